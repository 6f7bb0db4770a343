"""Data for examples and tests: Adult, and generators whose right answer is known."""

from secretballot._base._objects import published
from secretballot.datasets._adult import load_adult
from secretballot.datasets._generate import make_noisy_labels, make_votes
from secretballot.datasets._make_bags import make_bags

__all__ = ["load_adult", "make_bags", "make_noisy_labels", "make_votes"]

published(globals())
