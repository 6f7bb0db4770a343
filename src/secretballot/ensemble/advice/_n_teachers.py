"""How many teachers, from public numbers."""

from __future__ import annotations

import math

#: A teacher should have so many rows that it is not just noise itself.
_LEAST_ROWS = 10


def usual_n_teachers(n_private: int, n_public: int, sigma: float) -> int:
    """Return a number of teachers that was near the best on the data sets it was measured on.

    More teachers are heard better through the noise, and know less each: the evidence of a pool,
    in standard deviations, grows with them, and the rows of a teacher fall. Here both are equal.

    Parameters
    ----------
    n_private : int
        Rows, or owners, that teachers share.
    n_public : int
        Rows that they label.
    sigma : float
        The noise at which all of those fit the budget.
    """
    evidence_of_each = math.sqrt(n_public) / (math.sqrt(2) * sigma)
    wanted = math.sqrt(n_private / evidence_of_each)
    wanted = round(wanted, 1 - math.floor(math.log10(wanted)))  # two digits: it isn't exact
    return max(1, min(round(wanted), n_private // _LEAST_ROWS))
