"""Words: tokens, stop words and scripts, for English and Chinese."""
