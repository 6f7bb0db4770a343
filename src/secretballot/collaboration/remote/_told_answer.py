"""An answer as it is sent to the party that asked, and read there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.collaboration._answer import Answer
from secretballot.collaboration.remote._terms import Terms
from secretballot.transport import Message, MessageError

_NOT = -1


def told(answer: Answer, terms: Terms) -> Message:
    """Return an answer as a message: positions of classes, or 1, 0 and -1 for labels."""
    if terms.classes is None:
        outcome = answer.labels
    else:
        at = {label: code for code, label in enumerate(terms.classes)}
        pairs = zip(answer.labels.tolist(), answer.answered.tolist(), strict=True)
        outcome = np.array([at[label] if there else _NOT for label, there in pairs])
    voters: Any = answer.voters
    listed = {k: list(v) for k, v in voters.items()} if isinstance(voters, dict) else list(voters)
    words = {"question": answer.id, "voters": listed, "absent": dict(answer.absent)}
    return Message("answer", words, outcome.astype(_type(terms)).tobytes())


def heard(message: Message, terms: Terms, n_rows: int) -> Answer:
    """Return the answer that a message tells.

    Raises
    ------
    MessageError
        If it is none to a question of so many rows.
    """
    words, labels = message.words, terms.labels
    id, absent, said = (words.get(name) for name in ("question", "absent", "voters"))
    if not isinstance(id, str) or not _is_told(absent):
        raise MessageError("an answer lacks something")
    outcome = _outcome(message.body, terms, n_rows)
    if terms.classes is None:
        assert labels is not None
        if not isinstance(said, dict) or set(said) != set(labels):
            raise MessageError("an answer does not tell who voted on which label")
        voters: Any = {label: _names(said[label]) for label in labels}
        released, answered = outcome, outcome >= 0
    else:
        voters = _names(said)
        released, answered = terms.target.released(outcome, n_rows)
    return Answer(
        labels=released,
        answered=answered,
        names=labels,
        voters=voters,
        absent=dict(absent or {}),
        mechanism=terms.agreement.mechanism,
        id=id,
    )


def answer_bytes(terms: Terms, n_rows: int) -> int:
    """Return the length of an answer to a question of so many rows."""
    return n_rows * _type(terms).itemsize * (1 if terms.labels is None else len(terms.labels))


def _type(terms: Terms) -> np.dtype[Any]:
    return np.min_scalar_type(-len(terms.classes or ()) - 1).newbyteorder("<")


def _outcome(body: Any, terms: Terms, n_rows: int) -> NDArray[np.int64]:
    if len(body) != answer_bytes(terms, n_rows):
        raise MessageError("an answer is to another question")
    outcome = np.frombuffer(body, _type(terms)).astype(np.int64)
    most = 1 if terms.classes is None else len(terms.classes) - 1
    if (outcome > most).any() or (outcome < _NOT).any():
        raise MessageError("an answer is to another question")
    return outcome if terms.labels is None else outcome.reshape(n_rows, len(terms.labels))


def _is_told(absent: Any) -> bool:
    return isinstance(absent, dict) and all(isinstance(why, str) for why in absent.values())


def _names(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(name, str) for name in said):
        raise MessageError("an answer does not tell who voted")
    return tuple(said)
