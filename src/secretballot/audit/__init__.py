"""Audits: what the outcomes themselves prove about epsilon."""

from secretballot.audit._lower_bound import epsilon_lower_bound

__all__ = ["epsilon_lower_bound"]

epsilon_lower_bound.__module__ = __name__
