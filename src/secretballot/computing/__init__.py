"""Three computing parties that find the winners of shared counts, and open nothing else.

Each is a program of its own, ``python -m secretballot.computing``: three processes of one machine,
or one on each of three. It needs numpy and MPyC; of scikit-learn, of models and of budgets it knows
nothing.
"""

from secretballot.computing._certificate import certificate_names, check_context
from secretballot.computing._panel import Panel
from secretballot.computing._processes import Processes
from secretballot.computing._recipients import Part, Recipients, deliver, withdraw
from secretballot.computing._shares import LEAK_BITS, PRIME, VALUE_BITS, opened, split
from secretballot.computing._wire import Address, LineError

__all__ = [
    "Address",
    "LEAK_BITS",
    "LineError",
    "PRIME",
    "Panel",
    "Part",
    "Processes",
    "Recipients",
    "VALUE_BITS",
    "certificate_names",
    "check_context",
    "deliver",
    "opened",
    "split",
    "withdraw",
]
