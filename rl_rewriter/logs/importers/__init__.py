"""Exports of tracing tools, read into decision logs; what can't be mapped is counted."""
