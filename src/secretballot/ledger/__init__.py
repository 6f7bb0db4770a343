"""The ledger, which records a budget and every spend.

It stores costs. The accounting decides which of them a budget allows.
"""
