"""Three computing parties that find the winners of shared counts, and open nothing else.

Each is a program of its own, ``python -m secretballot.computing``: three processes of one machine,
or one on each of three. It needs numpy, gRPC and MPyC, and imports no scikit-learn, no models and
no budgets.
"""

from secretballot.computing._panel import Contribution, Panel, Recipients, deliver, withdraw
from secretballot.computing._processes import Processes
from secretballot.computing._shared_vote import LONGEST_ROW, SharedVote
from secretballot.computing._shares import LEAK_BITS, PRIME, VALUE_BITS, opened, split
from secretballot.transport import Address

__all__ = [
    "Address",
    "Contribution",
    "LEAK_BITS",
    "LONGEST_ROW",
    "PRIME",
    "Panel",
    "Processes",
    "Recipients",
    "SharedVote",
    "VALUE_BITS",
    "deliver",
    "opened",
    "split",
    "withdraw",
]
