"""Learning blends from logs: the logged queries are searched again, their documents credited."""
