"""What a durable record takes: spends a second, and the ledger's share of a release."""
