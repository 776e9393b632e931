"""Thin adapters to LangChain and LlamaIndex."""
