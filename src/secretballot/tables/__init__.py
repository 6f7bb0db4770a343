"""Rows: columns, public data, owners, parts on engines, and checks before anything is spent."""

from secretballot._base._objects import published
from secretballot.tables._engine import Engine
from secretballot.tables._private_parts import PrivateParts

__all__ = [
    "Engine",
    "PrivateParts",
]

published(globals())
