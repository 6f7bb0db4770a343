"""The most accurate model that a budget buys: ours beside rivals, at the same epsilon."""
