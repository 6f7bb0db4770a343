"""The family's contract: checks that every mechanism and every ensemble has to pass.

Register an example of your own mechanism and run `check_mechanism` on it; in pytest, parametrize
over ``mechanism_checks()``.
"""

from secretballot._public import published
from secretballot.checks._audit_table import audit_table
from secretballot.checks._bag_estimator import bag_estimator_checks, check_bag_estimator
from secretballot.checks._contract import NotApplicable
from secretballot.checks._ensemble import check_ensemble, ensemble_checks
from secretballot.checks._mechanism import check_mechanism, mechanism_checks
from secretballot.checks._registry import MechanismExample, register, registered

__all__ = [
    "MechanismExample",
    "NotApplicable",
    "audit_table",
    "bag_estimator_checks",
    "check_bag_estimator",
    "check_ensemble",
    "check_mechanism",
    "ensemble_checks",
    "mechanism_checks",
    "register",
    "registered",
]

published(globals())
