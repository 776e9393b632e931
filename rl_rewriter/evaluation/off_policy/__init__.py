"""What another policy would have earned, from the log of the one that ran; whether to deploy it."""
