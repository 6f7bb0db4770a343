"""Audits: lower bounds on epsilon from the outcomes of any mechanism or estimator.

Names that are imported as themselves are for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.audit._audit_draws import Draw as Draw
from secretballot.audit._audit_draws import draw_in_blocks as draw_in_blocks
from secretballot.audit._audit_draws import ensemble_draws
from secretballot.audit._audit_draws import mechanism_draws as mechanism_draws
from secretballot.audit._audit_epsilon import audit_epsilon
from secretballot.audit._audit_report import Audit, PairAudit
from secretballot.audit._exact import compose_rows as compose_rows
from secretballot.audit._exact import exact_divergence, exact_epsilon, hockey_stick
from secretballot.audit._lower_bound import epsilon_lower_bound
from secretballot.audit._neighbours import Neighbours, claimed_cost
from secretballot.audit._neighbours import as_neighbours as as_neighbours
from secretballot.audit._neighbours import groups_paid as groups_paid
from secretballot.audit._outcome_law import OutcomeLaw, outcome_law

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
