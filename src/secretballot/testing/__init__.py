"""Common checks of mechanisms and estimators, and audits of a claimed epsilon."""

from secretballot._base._objects import published
from secretballot.testing import _top_k_law as _top_k_law  # `outcome_law` then knows top k
from secretballot.testing._audit import (
    Audit,
    Neighbours,
    PairAudit,
    audit_epsilon,
    epsilon_lower_bound,
)
from secretballot.testing._for_sklearn import for_sklearn
from secretballot.testing._mechanism_checks import MechanismExample, check_mechanism

__all__ = [
    "Audit",
    "MechanismExample",
    "Neighbours",
    "PairAudit",
    "audit_epsilon",
    "check_mechanism",
    "epsilon_lower_bound",
    "for_sklearn",
]

published(globals())
