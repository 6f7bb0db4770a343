"""Reports on a ledger for people: the command line, its tables and pages."""
