"""Individual budgets, beside the published tables."""
