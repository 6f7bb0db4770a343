"""What people read of a ledger: the command line, its tables and pages."""
