"""Rows that are paid for before they are drawn, and drawn over days, or elsewhere."""

from secretballot.accounting.reserving._drawing import Drawing
from secretballot.accounting.reserving._reservation import Reservation

__all__ = ["Drawing", "Reservation"]
