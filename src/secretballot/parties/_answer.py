"""Answers to questions: released labels, and who voted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._base._label_parts import label_parts
from secretballot._base._view import Shown, View
from secretballot._base._view_parts import Prose, Table
from secretballot.mechanisms._base import Mechanism
from secretballot.reports._budget_report import short_text

#: The longest list of voters in a view.
_MOST = 12


@dataclass(frozen=True, kw_only=True)
class Answer(Shown):
    """Labels that answer a question, released from private votes.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels)
        The class of each row, or 1, 0 and -1 for present, absent and unanswered labels. Rows
        without a class have -1, or None where classes are not whole numbers.
    answered : ndarray of bool, of the same shape
        True for answered rows, or labels of a row.
    names : tuple of str or None
        The names of the labels, where rows have several.
    voters : tuple of str or dict of str to tuple of str
        Parties with a ballot; where rows have several labels, on each label.
    absent : dict of str to str
        Parties without a ballot, and the public reason.
    mechanism : Mechanism
        The release of labels from votes.
    id : str
        The question's name in the ledgers of all who voted.
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
        listed = f"{len(voters):,} voters: {', '.join(voters[:_MOST])}"
        parts = label_parts(self.labels, self.answered, self.names)
        parts += [Prose.of(listed + (", ..." if len(voters) > _MOST else ""))]
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
        unit = "rows" if self.names is None else "labels of rows"
        absent = f", {len(self.absent)} absent" if self.absent else ""
        return (
            f"<Answer: {self.answered.sum():,} of {self.answered.size:,} {unit} answered by "
            f"{n_voters} voters{absent}>"
        )
