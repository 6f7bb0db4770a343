"""Settings that the tests and the doctests share."""

import os

# No test opens a window, whatever the machine.
os.environ.setdefault("MPLBACKEND", "Agg")
