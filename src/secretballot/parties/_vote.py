"""One question from the invitation to the answer: pay first, then vote, then settle."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError
from secretballot._base._view import Prose, Shown, Table, View, label_parts
from secretballot.accounting._pricing import answered_rows
from secretballot.accounting._protocol import RandomState
from secretballot.mechanisms._base import Mechanism
from secretballot.parties._aggregator import (
    Absent,
    TrustedAggregator,
    Voter,
    VoteRefusedError,
    Voters,
    VoteTally,
)
from secretballot.parties._agreement import Agreement, shown_names
from secretballot.parties._question import Motion, Question, group_columns
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


#: The longest list of parties in a message.
_NAMED = 3
#: The reason that others see when a party can't pay.
_SPENT = "its budget does not allow it"

T = TypeVar("T")


def hold_vote(
    question: Question,
    agreement: Agreement,
    voters: Voters,
    aggregator: TrustedAggregator,
    random_state: RandomState = None,
    before_open: Callable[[], None] = lambda: None,
) -> Answer:
    """Hold a vote on a question and return the answer.

    Every voter durably pays the most that it can cost before any ballot is cast. A party that can't
    pay, or doesn't answer, has no ballot; as long as nothing was opened, the others take back their
    payments and begin anew without it. When all ballots are in, `before_open` is called; if it
    raises, nothing is opened.
    """
    min_voters = agreement.min_voters
    absent: dict[str, str] = {}
    columns = _ask(voters, lambda voter: voter.invite(question), absent)
    while True:
        try:
            motions = [
                agreement.motion(group, names, question.labels, asker=question.asker)
                for names, group in group_columns(columns).items()
                if len(names) >= min_voters
            ]
        except ValueError as error:
            if not absent:
                raise
            # For example, more colluders than parties remain.
            _refuse(
                question, min_voters, absent, f"without the absent parties, {error} That ends the"
            )
        if not motions:
            _refuse(question, min_voters, absent)
        aggregator.check(motions)
        voting = type(voters)(
            {name: voters[name] for name in columns if _motions_of(motions, name)}
        )
        gone: dict[str, str] = {}
        paid: list[Voter] = []
        try:
            _ask(voting, partial(_reserve, question, motions, paid), gone)
            if not gone:
                ballots = aggregator.gather(question, voting)
                before_open()
        except Absent as lost:
            gone[lost.name] = lost.reason
        except BaseException:
            _void(question, paid)
            raise
        if not gone:
            break
        _void(question, [voter for voter in paid if voter.name not in gone])
        absent |= gone
        columns = {name: group for name, group in columns.items() if name not in gone}
    try:
        outcomes = aggregator.open(ballots, motions, random_state)
    except Exception as error:
        # The text of the error may quote a count.
        raise VoteRefusedError(
            f"the vote failed when it was opened ({type(error).__name__}). What was opened is not "
            f"known, so what {len(voting)} voters had reserved stays charged; ask again."
        ) from error
    tallies = [_tally(motion, out) for motion, out in zip(motions, outcomes, strict=True)]

    # All record it, even if one of them fails. An absent one has paid, and can't take back a part.
    with contextlib.ExitStack() as callbacks:
        for name, voter in reversed(voting.items()):
            own_motions = [
                tally
                for tally, motion in zip(tallies, motions, strict=True)
                if name in motion.voters
            ]
            callbacks.callback(_close, question, voter, own_motions)
    return _answer(question, agreement, motions, outcomes, absent)


def _ask(voters: Voters, request: Callable[[Voter], T], absent: dict[str, str]) -> dict[str, T]:
    """Return the replies of voters, and note the reasons of those who are absent."""

    def reply(voter: Voter) -> T | Absent:
        try:
            return request(voter)
        except BudgetExceededError:
            return Absent(voter.name, _SPENT)
        except Absent as gone:
            return gone

    replies = voters.ask(reply)
    absent |= {name: gone.reason for name, gone in replies.items() if isinstance(gone, Absent)}
    return {name: sent for name, sent in replies.items() if not isinstance(sent, Absent)}


def _motions_of(motions: Sequence[Motion], name: str) -> list[Motion]:
    return [motion for motion in motions if name in motion.voters]


def _reserve(
    question: Question, motions: Sequence[Motion], paid: list[Voter], voter: Voter
) -> None:
    own_motions = [motion.sent_to(voter.name) for motion in _motions_of(motions, voter.name)]
    voter.reserve(question, own_motions)
    paid.append(voter)


def _close(question: Question, voter: Voter, tallies: Sequence[VoteTally]) -> None:
    with contextlib.suppress(Absent):
        voter.close(question, tallies)


def _void(question: Question, paid: Iterable[Voter]) -> None:
    for voter in paid:
        with contextlib.suppress(Absent):
            voter.void(question)


def _refuse(
    question: Question, min_voters: int, absent: Mapping[str, str], fault: str = ""
) -> NoReturn:
    reasons: dict[str, list[str]] = {}
    for name, reason in absent.items():
        reasons.setdefault(reason, []).append(name)
    listed = "; ".join(
        f"{shown_names(names, _NAMED)}: {reason}" for reason, names in reasons.items()
    )
    raise VoteRefusedError(
        (fault or f"fewer than min_voters={min_voters} parties can vote on this")
        + f" question of {question.n_rows} rows"
        + (f" ({listed})" if listed else "")
        + ". Nothing was opened, and what had been "
        "reserved for it was given back. Ask about fewer rows, use more noise, or find more "
        "parties."
    )


def _tally(motion: Motion, outcome: NDArray[np.int64]) -> VoteTally:
    """Count the rows of an outcome for voters' ledgers, and those that passed a threshold."""
    law = next(iter(motion.mechanism.laws(motion.n_columns).values()))
    if outcome.ndim > 1 or all(step.after is None for step in law):
        return VoteTally(len(outcome), None)
    return VoteTally(len(outcome), int(answered_rows(motion.mechanism, outcome).sum()))


def _answer(
    question: Question,
    agreement: Agreement,
    motions: Sequence[Motion],
    outcomes: Sequence[NDArray[np.int64]],
    absent: Mapping[str, str],
) -> Answer:
    voters: tuple[str, ...] | dict[str, tuple[str, ...]]
    if question.labels is None:
        outcome, voters = outcomes[0], tuple(motions[0].voters)
    else:
        outcome = np.full((question.n_rows, len(question.labels)), -1)
        voters = dict.fromkeys(question.labels, ())
        for motion, part in zip(motions, outcomes, strict=True):
            outcome[:, motion.columns] = part.reshape(question.n_rows, len(motion.columns))
            voters |= {question.labels[column]: tuple(motion.voters) for column in motion.columns}
    labels, answered = question.target.private_labels(outcome, question.n_rows)
    return Answer(
        labels=labels,
        answered=answered,
        names=question.labels,
        voters=voters,
        absent=dict(absent),
        mechanism=agreement.mechanism,
        id=question.id,
    )
