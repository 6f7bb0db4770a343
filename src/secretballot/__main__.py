"""``python -m secretballot``: the command `secretballot`, where it is not installed.

Python would import modules from the current folder first, which the command does not.
"""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Before anything else is imported.
    import os

    if sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]

from secretballot.reports._cli import main

if __name__ == "__main__":
    sys.exit(main())
