"""Judged collections: readers of the usual formats, the checks they share, synthetic questions."""
