"""Results that a change of names and structure must not change.

``python -m tests.golden`` writes them anew, where results are meant to change.
"""
