"""Child budgets: parts of a budget for a team, a project or a year."""

from secretballot.accounting.children._carving import Carving

__all__ = ["Carving"]
