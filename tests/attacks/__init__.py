"""Attacks on whole paths: what an adversary, a failing disk or a careless user would try.

Each file is one attack, is marked slow, runs with ``make audit``, and reports its counts through
the fixture `counts`; the summary of the run prints them.
"""
