"""Batched search behind one Protocol: TF-IDF, BM25, Chroma, and their fusion."""
