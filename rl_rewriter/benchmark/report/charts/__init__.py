"""The charts of the report, one a module, each from what a run's folder holds."""
