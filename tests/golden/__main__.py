"""Write the golden files anew: ``python -m tests.golden``."""

from tests.golden._record import write

write()
