"""Quantiles of many columns."""
