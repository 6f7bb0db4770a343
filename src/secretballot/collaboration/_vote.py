"""One question from the invitation to the answer: pay first, then vote, then settle."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot.accounting import answered_rows
from secretballot.collaboration._aggregator import Aggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._question import Motion, Question, known_together
from secretballot.collaboration._voter import Absent, Tally, Voter, VoteRefusedError
from secretballot.transport import ChannelError

#: How many are named in a message.
_NAMED = 3
#: What the others learn of a party that can't pay.
_SPENT = "its budget does not allow it"


def votes_on(
    agreement: Agreement,
    columns: Mapping[str, tuple[int, ...]],
    labels: tuple[str, ...] | None,
    asker: str | None = None,
) -> list[Motion]:
    """Return a vote on all classes, or one on each set of labels that the same parties know."""
    return [
        agreement.motion(at, names, labels, asker=asker)
        for names, at in known_together(columns).items()
        if len(names) >= agreement.min_voters
    ]


def hold_vote(
    question: Question,
    agreement: Agreement,
    voters: Mapping[str, Voter],
    aggregator: Aggregator,
    random_state: Seed = None,
    before_open: Callable[[], None] = lambda: None,
) -> Answer:
    """Return the answer to a question.

    Every voter has durably paid the most that it can cost before any ballot is cast. Who can't pay,
    or doesn't answer, has no ballot; as long as nothing was opened, the others take back what they
    paid and begin anew without it.

    Raises
    ------
    VoteRefusedError
        If fewer than `min_voters` parties are left, or the vote failed.
    """
    least = agreement.min_voters
    absent: dict[str, str] = {}
    columns = _ask(voters, absent, lambda name, voter: voter.invite(question))
    while True:
        try:
            motions = votes_on(agreement, columns, question.labels, question.asker)
        except ValueError as error:
            if not absent:
                raise
            # Such as more colluders than there are parties left.
            _refuse(question, least, absent, f"without who is gone, {error} That ends the")
        if not motions:
            _refuse(question, least, absent)
        aggregator.check(motions)
        voting = {name: voters[name] for name in columns if _of(motions, name)}
        gone: dict[str, str] = {}
        paid: dict[str, Voter] = {}
        try:
            for name, voter in voting.items():
                if _reserved(question, motions, name, voter, gone):
                    paid[name] = voter
            gathered = None if gone else _gathered(aggregator, question, motions, paid, gone)
            if not gone:
                before_open()
        except BaseException:
            _void(question, paid)
            raise
        if not gone:
            break
        _void(question, {name: voter for name, voter in paid.items() if name not in gone})
        absent |= gone
        columns = {name: at for name, at in columns.items() if name not in gone}
    try:
        outcomes = aggregator.open(gathered, motions, random_state)
    except Exception as error:
        # What another error says may quote a count.
        told = error if isinstance(error, ChannelError | VoteRefusedError) else type(error).__name__
        raise VoteRefusedError(
            f"the vote failed when it was opened ({told}). What was opened is not known, so what "
            f"{len(voting)} voters had reserved stays charged; ask again."
        ) from error
    tallies = [_tally(motion, out) for motion, out in zip(motions, outcomes, strict=True)]

    def close(name: str, voter: Voter) -> None:
        both = zip(tallies, motions, strict=True)
        voter.close(question, [tally for tally, motion in both if name in motion.voters])

    # Who is gone by now has paid, and can't take anything back.
    _close(voting, close)
    return _answer(question, agreement, motions, outcomes, absent)


def _of(motions: Sequence[Motion], name: str) -> list[Motion]:
    """Return the votes of one party."""
    return [motion for motion in motions if name in motion.voters]


def _ask(
    voters: Mapping[str, Voter], absent: dict[str, str], what: Callable[[str, Voter], Any]
) -> dict[str, Any]:
    """Return what is there of all voters' replies."""
    found = {}
    for name, voter in voters.items():
        try:
            found[name] = what(name, voter)
        except Absent as gone:
            absent[name] = gone.reason
    return found


def _close(voting: Mapping[str, Voter], close: Callable[[str, Voter], None]) -> None:
    """Let all record that the votes were opened: one that can't must not keep others from it."""
    with contextlib.ExitStack() as all_of_them:
        for name, voter in reversed(voting.items()):
            all_of_them.callback(_ask, {name: voter}, {}, close)


def _reserved(
    question: Question,
    motions: Sequence[Motion],
    name: str,
    voter: Voter,
    gone: dict[str, str],
) -> bool:
    try:
        voter.reserve(question, [motion.sent_to(name) for motion in _of(motions, name)])
    except BudgetExceededError:
        gone[name] = _SPENT
    except Absent as absent:
        gone[name] = absent.reason
    return name not in gone


def _gathered(
    aggregator: Aggregator,
    question: Question,
    motions: Sequence[Motion],
    paid: Mapping[str, Voter],
    gone: dict[str, str],
) -> Any:
    try:
        return aggregator.gather(question, motions, paid)
    except Absent as absent:
        gone[absent.name] = absent.reason
        return None


def _void(question: Question, paid: Mapping[str, Voter]) -> None:
    _ask(paid, {}, lambda name, voter: voter.void(question))


def _refuse(question: Question, least: int, absent: Mapping[str, str], fault: str = "") -> NoReturn:
    reasons: dict[str, list[str]] = {}
    for name, reason in absent.items():
        reasons.setdefault(reason, []).append(repr(name))
    told = "; ".join(
        f"{', '.join(names[:_NAMED])}"
        + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        + f": {reason}"
        for reason, names in reasons.items()
    )
    raise VoteRefusedError(
        (fault or f"fewer than min_voters={least} parties can vote on this")
        + f" question of {question.n_rows} rows"
        + (f" ({told})" if told else "")
        + ". Nothing was opened, and what had been "
        "reserved for it was given back. Ask about fewer rows, use more noise, or find more "
        "parties."
    )


def _tally(motion: Motion, outcome: NDArray[Any]) -> Tally:
    """Return what voters learn of an outcome: what their ledgers need."""
    law = next(iter(motion.mechanism.laws(motion.n_columns).values()))
    thresholds = any(step.after is not None for step in law)
    whole = outcome.ndim == 1 and thresholds
    return Tally(
        len(outcome), int(answered_rows(motion.mechanism, outcome).sum()) if whole else None
    )


def _answer(
    question: Question,
    agreement: Agreement,
    motions: Sequence[Motion],
    outcomes: Sequence[NDArray[Any]],
    absent: Mapping[str, str],
) -> Answer:
    voters: Any
    if question.classes is not None:
        labels, answered = question.target.released(outcomes[0], question.n_rows)
        voters = tuple(motions[0].voters)
    else:
        assert question.labels is not None
        labels = np.full((question.n_rows, len(question.labels)), -1)
        voters = dict.fromkeys(question.labels, ())
        for motion, outcome in zip(motions, outcomes, strict=True):
            labels[:, motion.columns] = outcome.reshape(question.n_rows, len(motion.columns))
            voters |= {question.labels[at]: tuple(motion.voters) for at in motion.columns}
        answered = labels >= 0
    return Answer(
        labels=labels,
        answered=answered,
        names=question.labels,
        voters=voters,
        absent=dict(absent),
        mechanism=agreement.mechanism,
        id=question.id,
    )
