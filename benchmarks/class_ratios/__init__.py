"""Class ratios learned from bags: errors by method, shift and noise."""
