"""One HTML page about a run: verdict, charts, the queries themselves; works without a network."""
