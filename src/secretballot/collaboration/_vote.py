"""One question from the invitation to the answer: pay first, then vote, then settle."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import BudgetExceededError
from secretballot.accounting import answered_rows
from secretballot.collaboration._aggregator import Aggregator, Gathered, Seed
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._motion import Motion, group_columns
from secretballot.collaboration._question import Question
from secretballot.collaboration._voter import Absent, Voter, VoteRefusedError, VoteTally
from secretballot.transport import ChannelError

#: The longest list of parties in a message.
_NAMED = 3
#: The reason that others see when a party can't pay.
_SPENT = "its budget does not allow it"

T = TypeVar("T")


def group_motions(
    agreement: Agreement,
    columns: Mapping[str, tuple[int, ...]],
    labels: tuple[str, ...] | None,
    asker: str | None = None,
) -> list[Motion]:
    """Build a vote on all classes, or one on each set of labels that the same parties know."""
    return [
        agreement.motion(group, names, labels, asker=asker)
        for names, group in group_columns(columns).items()
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
    """Hold a vote on a question and return the answer.

    Every voter durably pays the most that it can cost before any ballot is cast. A party that can't
    pay, or doesn't answer, has no ballot; as long as nothing was opened, the others take back their
    payments and begin anew without it.

    Parameters
    ----------
    question : Question
    agreement : Agreement
    voters : dict of str to Voter
    aggregator : Aggregator
    random_state : int, SeedSequence, Generator or None
        None: cryptographic noise.
    before_open : callable
        Called when all ballots are in; if it raises, nothing is opened.

    Raises
    ------
    VoteRefusedError
        If fewer than `min_voters` parties are left, or the vote failed.
    """
    min_voters = agreement.min_voters
    absent: dict[str, str] = {}
    columns = _ask(voters, absent, lambda name, voter: voter.invite(question))
    while True:
        try:
            motions = group_motions(agreement, columns, question.labels, question.asker)
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
        voting = {name: voters[name] for name in columns if _motions_of(motions, name)}
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
        # The text of another error may quote a count.
        is_public = isinstance(error, ChannelError | VoteRefusedError)
        fault = str(error) if is_public else type(error).__name__
        raise VoteRefusedError(
            f"the vote failed when it was opened ({fault}). What was opened is not known, so what "
            f"{len(voting)} voters had reserved stays charged; ask again."
        ) from error
    tallies = [_tally(motion, out) for motion, out in zip(motions, outcomes, strict=True)]

    def close(name: str, voter: Voter) -> None:
        pairs = zip(tallies, motions, strict=True)
        voter.close(question, [tally for tally, motion in pairs if name in motion.voters])

    # A party that is absent by now has paid, and can't take anything back.
    _close(voting, close)
    return _answer(question, agreement, motions, outcomes, absent)


def _motions_of(motions: Sequence[Motion], name: str) -> list[Motion]:
    """Return the votes in which a party has a ballot."""
    return [motion for motion in motions if name in motion.voters]


def _ask(
    voters: Mapping[str, Voter], absent: dict[str, str], request: Callable[[str, Voter], T]
) -> dict[str, T]:
    """Return the replies of voters, and note who is absent."""
    replies = {}
    for name, voter in voters.items():
        try:
            replies[name] = request(name, voter)
        except Absent as gone:
            absent[name] = gone.reason
    return replies


def _close(voting: Mapping[str, Voter], close: Callable[[str, Voter], None]) -> None:
    """Let all record that the votes were opened, even if one of them fails."""
    with contextlib.ExitStack() as callbacks:
        for name, voter in reversed(list(voting.items())):
            callbacks.callback(_ask, {name: voter}, {}, close)


def _reserved(
    question: Question,
    motions: Sequence[Motion],
    name: str,
    voter: Voter,
    gone: dict[str, str],
) -> bool:
    try:
        voter.reserve(question, [motion.sent_to(name) for motion in _motions_of(motions, name)])
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
) -> Gathered:
    try:
        return aggregator.gather(question, motions, paid)
    except Absent as absent:
        gone[absent.name] = absent.reason
        return None


def _void(question: Question, paid: Mapping[str, Voter]) -> None:
    _ask(paid, {}, lambda name, voter: voter.void(question))


def _refuse(
    question: Question, min_voters: int, absent: Mapping[str, str], fault: str = ""
) -> NoReturn:
    reasons: dict[str, list[str]] = {}
    for name, reason in absent.items():
        reasons.setdefault(reason, []).append(repr(name))
    listed = "; ".join(
        f"{', '.join(names[:_NAMED])}"
        + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        + f": {reason}"
        for reason, names in reasons.items()
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
    if question.classes is not None:
        labels, answered = question.target.private_labels(outcomes[0], question.n_rows)
        voters = tuple(motions[0].voters)
    else:
        assert question.labels is not None
        labels = np.full((question.n_rows, len(question.labels)), -1)
        voters = dict.fromkeys(question.labels, ())
        for motion, outcome in zip(motions, outcomes, strict=True):
            labels[:, motion.columns] = outcome.reshape(question.n_rows, len(motion.columns))
            voters |= {question.labels[column]: tuple(motion.voters) for column in motion.columns}
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
