"""Releases a second, and the time to open and verify, of a ledger in a file and on a server."""
