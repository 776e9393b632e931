"""The ladder: complexity is taken only where queries that it hasn't seen clearly gain by it."""
