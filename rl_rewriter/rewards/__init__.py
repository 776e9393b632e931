"""What a ranking is worth: IR metrics, and their composition with costs."""
