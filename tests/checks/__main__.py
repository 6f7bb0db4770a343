"""Write the table of the audits to a file: ``python -m tests.checks FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.checks._audit_table import audit_table

from secretballot.inspection import show_progress

if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    # Whole or not at all: a refuted claim leaves the last table as it was.
    with show_progress("lines"):
        page = audit_table()
    Path(sys.argv[1]).write_text(page, encoding="utf-8")
    print(page)
