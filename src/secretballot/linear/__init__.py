"""Regression of classes and numbers from noisy sums over private rows."""

from secretballot._base._objects import published
from secretballot.linear._additive_term import AdditiveTerm, PairTerm
from secretballot.linear._private_linear_regression import PrivateLinearRegression
from secretballot.linear._private_logistic_regression import PrivateLogisticRegression
from secretballot.linear.features import ColumnReading

__all__ = [
    "AdditiveTerm",
    "ColumnReading",
    "PairTerm",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
]

published(globals())
