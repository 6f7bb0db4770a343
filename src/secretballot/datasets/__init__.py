"""Data for examples and tests: Adult, and generators whose right answer is known."""

from secretballot.datasets._adult import load_adult
from secretballot.datasets._generate import make_noisy_labels, make_votes

__all__ = ["load_adult", "make_noisy_labels", "make_votes"]

for _name in __all__:
    globals()[_name].__module__ = __name__
