"""Classification from private sums: each row casts one vector, a few times."""

from secretballot._public import published
from secretballot.linear._private_logistic_regression import PrivateLogisticRegression
from secretballot.linear._terms import AdditiveTerm

__all__ = ["AdditiveTerm", "PrivateLogisticRegression"]

published(globals())
