"""Options that commands share: one file for each thing that they set."""
