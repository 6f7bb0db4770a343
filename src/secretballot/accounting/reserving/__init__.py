"""Rows that are paid for before they are drawn, and drawn over days, or elsewhere."""

from secretballot.accounting.reserving._reservation import Reservation
from secretballot.accounting.reserving._reserved_payment import ReservedPayment
from secretballot.accounting.reserving._reserving import Reserving

__all__ = ["Reservation", "ReservedPayment", "Reserving"]
