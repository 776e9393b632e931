"""What stands around our own work while a chain runs: limits, fallbacks with a name, counters."""
