"""What answers cost: labels that a budget buys, and the time that exact costs and games take."""
