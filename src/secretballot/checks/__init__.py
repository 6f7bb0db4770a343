"""Common checks that every mechanism and every ensemble has to pass.

Run `check_mechanism` on an example of your own mechanism; in pytest, parametrize over
``mechanism_checks({"name": example})``. `for_sklearn` lets scikit-learn's own checks fit an
estimator of yours.
"""

from secretballot._public import published
from secretballot.checks._common_checks import (
    check_ensemble,
    check_mechanism,
    ensemble_checks,
    mechanism_checks,
)
from secretballot.checks._contract import NotApplicable
from secretballot.checks._for_sklearn import for_sklearn
from secretballot.checks._mechanism_example import MechanismExample

__all__ = [
    "MechanismExample",
    "NotApplicable",
    "check_ensemble",
    "check_mechanism",
    "ensemble_checks",
    "for_sklearn",
    "mechanism_checks",
]

published(globals())
