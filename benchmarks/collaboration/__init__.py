"""Models of parties before and after they ask each other."""
