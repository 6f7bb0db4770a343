"""Settings that the tests and the doctests share."""

import os

# No test opens a window, whatever the machine.
os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side, one a core: threads of small matrices would only wait for each other.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
