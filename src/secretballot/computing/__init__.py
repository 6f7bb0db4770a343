"""Three computing parties that find the winners of shared counts, and open nothing else.

Each is a program of its own, ``python -m secretballot.computing``: three processes of one machine,
or one on each of three. It needs numpy, gRPC and MPyC; of scikit-learn, of models and of budgets it
knows nothing.
"""

from secretballot.computing._ballots import LONGEST_ROW, SharedVote
from secretballot.computing._panel import Panel
from secretballot.computing._processes import Processes
from secretballot.computing._recipients import Part, Recipients, deliver, withdraw
from secretballot.computing._server import Address
from secretballot.computing._shares import LEAK_BITS, PRIME, VALUE_BITS, opened, split

__all__ = [
    "Address",
    "LEAK_BITS",
    "LONGEST_ROW",
    "PRIME",
    "Panel",
    "Part",
    "Processes",
    "Recipients",
    "SharedVote",
    "VALUE_BITS",
    "deliver",
    "opened",
    "split",
    "withdraw",
]
