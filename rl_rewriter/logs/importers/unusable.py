"""Says that a file can't be read at all, or no further."""

from __future__ import annotations


class UnusableFileError(Exception):
    """Ends the reading of one file; its text is one sentence that names the file."""
