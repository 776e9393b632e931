"""Watches a running rewriter by its decision log: drift, and a live summary."""
