"""Audits: what the outcomes themselves prove about epsilon, of any mechanism or estimator.

What is imported as itself is for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.audit._audit_epsilon import audit_epsilon
from secretballot.audit._draws import Draw as Draw
from secretballot.audit._draws import ensemble_draws
from secretballot.audit._draws import in_blocks as in_blocks
from secretballot.audit._draws import mechanism_draws as mechanism_draws
from secretballot.audit._exact import composed as composed
from secretballot.audit._exact import exact_divergence, exact_epsilon, hockey_stick
from secretballot.audit._lower_bound import epsilon_lower_bound
from secretballot.audit._neighbours import Neighbours, claimed_cost
from secretballot.audit._neighbours import as_neighbours as as_neighbours
from secretballot.audit._neighbours import charged_to as charged_to
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

published(globals())
