"""Errors, numbers, texts, views and scikit-learn's hooks, which all rooms share."""
