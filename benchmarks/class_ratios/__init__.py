"""Class ratios learned from bags: errors by method, shift and noise; time and memory."""
