"""Comparison runs: retrievers and rewriters on judged collections, and the folder they leave."""
