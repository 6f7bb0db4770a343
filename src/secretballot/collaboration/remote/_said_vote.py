"""What an aggregator says of votes, held against what a party agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secretballot.collaboration._question import Motion
from secretballot.collaboration._voter import Tally
from secretballot.collaboration.remote._terms import Terms
from secretballot.transport import MessageError


def motions_of(
    said: Any, terms: Terms, name: str, known: tuple[int, ...], asker: str | None
) -> list[Motion]:
    """Return votes as a party's own agreement has them, if what was said follows from it.

    Parameters
    ----------
    said : list of dict
        Of each vote its columns, what the party's ballot weighs, and who votes.
    terms : Terms
        The party's own.
    name : str
        The party's.
    known : tuple of int
        The columns that it votes on.
    asker : str or None
        Who has no ballot.

    Raises
    ------
    MessageError
    """
    agreement, motions, used = terms.agreement, list[Motion](), set[int]()
    own = agreement.weight(name)
    for each in _list(said):
        columns, weight, voters = _fields(each, "columns", "weight", "voters")
        columns = tuple(_list(columns))
        # With classes there is one vote, on all of them.
        whole = terms.classes is None or columns == known
        fits = columns and whole and all(type(at) is int for at in columns)
        if not fits or set(columns) - set(known) or len(set(columns)) < len(columns):
            raise MessageError(f"a vote on columns {columns} of {known}")
        if used & set(columns):
            raise MessageError(f"two votes on the columns {sorted(used & set(columns))}")
        if weight != own:
            raise MessageError(f"a ballot of weight {weight!r} instead of {own:g}")
        if not all(isinstance(each, str) for each in _list(voters)):
            raise MessageError("voters are no names")
        if name not in voters:
            raise MessageError(f"a vote without {name!r}")
        # Who may vote, what they weigh, and among how many noise is divided: the agreement says it.
        try:
            motion = agreement.motion(columns, voters, terms.labels, asker=asker).sent_to(name)
        except ValueError as error:
            raise MessageError(f"a vote that was not agreed on: {error}") from None
        motions.append(motion)
        used |= set(columns)
    if not motions:
        raise MessageError("a vote on nothing")
    return motions


def tallies_of(said: Any, n_rows: Sequence[int]) -> list[Tally]:
    """Return what is told of outcomes, if it can be of votes on so many rows each."""
    if len(_list(said)) != len(n_rows):
        raise MessageError("there are not as many tallies as votes")
    return [_tally(each, rows) for each, rows in zip(said, n_rows, strict=True)]


def _tally(said: Any, n_rows: int) -> Tally:
    rows, answers = _fields(said, "n_rows", "n_answers")
    if type(rows) is not int or not 0 < rows <= n_rows:
        raise MessageError(f"{rows!r} rows of {n_rows} were begun")
    if answers is not None and (type(answers) is not int or not 0 <= answers <= rows):
        raise MessageError(f"{answers!r} rows of {rows} were answered")
    return Tally(rows, answers)


def _fields(said: Any, *names: str) -> list[Any]:
    if not isinstance(said, dict) or set(said) != set(names):
        raise MessageError(f"of a vote {names} are told, and here {said!r} was")
    return [said[name] for name in names]


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise MessageError(f"a list was expected, and {said!r} came")
    return said
