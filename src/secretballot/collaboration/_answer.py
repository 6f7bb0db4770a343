"""What a question brought: labels that were released, and who voted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._budget_shown import short_text
from secretballot._views import Prose, Shown, Table, View, label_parts
from secretballot.mechanisms import Mechanism

#: So many voters are named.
_MOST = 12


@dataclass(frozen=True, kw_only=True)
class Answer(Shown):
    """Labels that a question brought; private votes went into them, at the price that was paid.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels)
        The class of each row, or 1, 0 and -1 for present, absent and unanswered labels. Rows
        without a class have -1, or None where classes are not whole numbers.
    answered : ndarray of bool, of the same shape
        Which rows, or labels of a row, were answered.
    names : tuple of str or None
        The names of the labels, where rows have several.
    voters : tuple of str or dict of str to tuple of str
        Who had a ballot; where rows have several labels, on each label.
    absent : dict of str to str
        Who had none, and why: what the others may know of it.
    mechanism : Mechanism
        How votes became labels.
    id : str
        Under which the ledgers of all who voted keep it.
    """

    labels: NDArray[Any]
    answered: NDArray[np.bool_]
    names: tuple[str, ...] | None
    voters: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    absent: Mapping[str, str]
    mechanism: Mechanism = field(repr=False)
    id: str = field(repr=False)

    def _view(self) -> View:
        voters = self._all_voters()
        who = f"{len(voters):,} voters: {', '.join(voters[:_MOST])}"
        parts = label_parts(self.labels, self.answered, self.names)
        parts += [Prose.of(who + (", ..." if len(voters) > _MOST else ""))]
        if self.absent:
            parts.append(Table(("absent", "why"), list(self.absent.items())))
        parts.append(Prose.of(short_text(self.mechanism), quiet=True))
        return View("Answer", tuple(parts))

    def _all_voters(self) -> list[str]:
        if isinstance(self.voters, tuple):
            return list(self.voters)
        return list(dict.fromkeys(name for names in self.voters.values() for name in names))

    def __repr__(self) -> str:
        n_voters = len(self._all_voters())
        what = "rows" if self.names is None else "labels of rows"
        gone = f", {len(self.absent)} absent" if self.absent else ""
        return (
            f"<Answer: {self.answered.sum():,} of {self.answered.size:,} {what} answered by "
            f"{n_voters} voters{gone}>"
        )
