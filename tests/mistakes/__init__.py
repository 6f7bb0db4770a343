"""Mistakes of users: each is refused or warned of before the budget is spent, with a remedy."""
