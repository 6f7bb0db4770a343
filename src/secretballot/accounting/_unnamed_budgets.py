"""Warning of a second budget that a function opens for the same private values.

Values are remembered as a hash under a key of this process, in its memory alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn

_KEY = secrets.token_bytes(32)
_SEEN: set[bytes] = set()


class UnnamedBudget:
    """Notice of a budget that a function opens for private values.

    Parameters
    ----------
    arrays : iterable of ndarray
        The values.
    """

    def __init__(self, arrays: Iterable[NDArray[np.generic]]) -> None:
        hashed = blake2b(key=_KEY, digest_size=16)
        for array in arrays:
            is_plain = array.dtype.kind not in ("O", "T")
            content = array.tobytes() if is_plain else repr(array.tolist()).encode()
            hashed.update(f"{array.dtype} {array.shape} {len(content)} ".encode())
            hashed.update(content)
        self._digest = hashed.digest()

    def warn(self, values: str) -> None:
        """Warn if the values have been paid for by such a budget before."""
        if self._digest in _SEEN:
            warn(
                f"the same {values} were released before in this program, by a budget that was "
                "opened for that alone. This one is another, and their epsilons and deltas add up, "
                "though each statement speaks of its own alone. Open one accountant for all of "
                f"them, and pass it as accountant=. {NOT_FOR_PUBLICATION}",
                PrivacyLeakWarning,
            )

    def remember(self) -> None:
        """Remember values that were released."""
        _SEEN.add(self._digest)
