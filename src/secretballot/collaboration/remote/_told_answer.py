"""An answer as it is sent to the party that asked, and read there."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot.collaboration._answer import Answer
from secretballot.collaboration.remote._message import Message, MessageError
from secretballot.collaboration.remote._terms import Terms

_NOT = -1


def told(answer: Answer, terms: Terms) -> Message:
    """Return an answer as a message: positions of classes, or 1, 0 and -1 for labels."""
    if terms.classes is None:
        outcome = answer.labels
    else:
        at = {label: code for code, label in enumerate(terms.classes)}
        pairs = zip(answer.labels.tolist(), answer.answered.tolist(), strict=True)
        outcome = np.array([at[label] if there else _NOT for label, there in pairs])
    small = outcome.astype(np.min_scalar_type(-len(terms.classes or ()) - 1))
    voters: Any = answer.voters
    listed = {k: list(v) for k, v in voters.items()} if isinstance(voters, dict) else list(voters)
    words = {"question": answer.id, "voters": listed, "absent": dict(answer.absent)}
    return Message("answer", words, [small])


def heard(message: Message, terms: Terms, n_rows: int) -> Answer:
    """Return the answer that a message tells.

    Raises
    ------
    MessageError
        If it is none to a question of so many rows.
    """
    words, labels = message.words, terms.labels
    id, absent, said = (words.get(name) for name in ("question", "absent", "voters"))
    if not isinstance(id, str) or not isinstance(absent, dict) or len(message.arrays) != 1:
        raise MessageError("an answer lacks something")
    (outcome,) = message.arrays
    shape = (n_rows,) if labels is None else (n_rows, len(labels))
    most = 1 if labels is not None else len(terms.classes or ()) - 1
    if (
        outcome.dtype.kind != "i"
        or outcome.shape != shape
        or (outcome > most).any()
        or (outcome < _NOT).any()
    ):
        raise MessageError("an answer is to another question")
    if terms.classes is None:
        assert labels is not None
        if not isinstance(said, dict) or set(said) != set(labels):
            raise MessageError("an answer does not tell who voted on which label")
        voters: Any = {label: _names(said[label]) for label in labels}
        released, answered = outcome.astype(np.int64), outcome >= 0
    else:
        voters = _names(said)
        released, answered = terms.target.released(outcome.astype(np.int64), n_rows)
    return Answer(
        labels=released,
        answered=answered,
        names=labels,
        voters=voters,
        absent={str(name): str(why) for name, why in absent.items()},
        mechanism=terms.agreement.mechanism,
        id=id,
    )


def _names(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(name, str) for name in said):
        raise MessageError("an answer does not tell who voted")
    return tuple(said)
