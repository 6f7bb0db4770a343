"""Child budgets: parts of a budget for a team, a project or a year."""

from secretballot.accounting.children._carving import Carving
from secretballot.accounting.children._child_report import child_reports, children_table
from secretballot.accounting.children._make_grant import epsilon_of_share

__all__ = ["Carving", "child_reports", "children_table", "epsilon_of_share"]
