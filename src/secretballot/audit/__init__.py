"""Audits: what the outcomes themselves prove about epsilon, of any mechanism or estimator."""

from secretballot.audit._audit_epsilon import audit_epsilon
from secretballot.audit._draws import ensemble_draws
from secretballot.audit._exact import exact_divergence, exact_epsilon, hockey_stick
from secretballot.audit._lower_bound import epsilon_lower_bound
from secretballot.audit._neighbours import Neighbours, claimed_cost
from secretballot.audit._outcome_law import OutcomeLaw, outcome_law
from secretballot.audit._report import Audit, PairAudit

__all__ = [
    "Audit",
    "Neighbours",
    "OutcomeLaw",
    "PairAudit",
    "audit_epsilon",
    "claimed_cost",
    "ensemble_draws",
    "epsilon_lower_bound",
    "exact_divergence",
    "exact_epsilon",
    "hockey_stick",
    "outcome_law",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
