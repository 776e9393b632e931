"""Credit assignment: from rewards of whole result lists to what each document earned."""
