"""Labels that a budget buys, by accounting."""
