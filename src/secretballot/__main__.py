"""``python -m secretballot``: look at a ledger, and check it. Needs no scikit-learn."""

from __future__ import annotations

import sys

from secretballot._cli import main

if __name__ == "__main__":
    sys.exit(main())
