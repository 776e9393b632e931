"""Options that commands share: a file for each thing that they set, and how commands get them."""
