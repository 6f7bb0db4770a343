"""Regression of classes and numbers from noisy sums over private rows."""

from secretballot._base._objects import published
from secretballot.linear._additive_term import AdditiveTerm, PairTerm
from secretballot.linear._column_reading import ColumnReading
from secretballot.linear._private_linear_regression import PrivateLinearRegression
from secretballot.linear._private_logistic_regression import PrivateLogisticRegression

__all__ = [
    "AdditiveTerm",
    "ColumnReading",
    "PairTerm",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
]

published(globals())
