"""Collections, headroom and comparison runs."""
