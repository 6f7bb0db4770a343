"""Logistic regression from noisy sums over private rows."""

from secretballot._public import published
from secretballot.linear._additive_term import AdditiveTerm, PairTerm
from secretballot.linear._private_logistic_regression import PrivateLogisticRegression

__all__ = ["AdditiveTerm", "PairTerm", "PrivateLogisticRegression"]

published(globals())
