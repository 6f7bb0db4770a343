"""Answers as messages to the party that asked."""

from __future__ import annotations

import numpy as np

from secretballot.parties._answer import Answer
from secretballot.parties._message import Buffer, Fields, Message, MessageError, read_field
from secretballot.parties.remote._vote_records import STATES, VoteOutcome
from secretballot.parties.remote._vote_terms import VoteTerms

#: Code of a row or label without an answer.
_UNANSWERED = -1


def encode_answer(answer: Answer, terms: VoteTerms) -> Message:
    """Encode an answer: positions of classes, or 1, 0 and -1 for labels."""
    codes = answer.labels
    if terms.classes is not None:
        positions = {label: code for code, label in enumerate(terms.classes)}
        rows = zip(answer.labels.tolist(), answer.answered.tolist(), strict=True)
        codes = np.array(
            [positions[label] if is_answered else _UNANSWERED for label, is_answered in rows]
        )
    fields = {"question": answer.id, "voters": answer.voters, "absent": dict(answer.absent)}
    return Message("answer", fields, codes.astype(_code_type(terms)).tobytes())


def decode_answer(fields: Fields, body: Buffer, terms: VoteTerms, n_rows: int) -> Answer:
    """Decode the answer to a question of some rows, or raise `MessageError`."""
    labels, classes = terms.labels, terms.classes
    dtype, n_codes = _code_type(terms), n_rows * (1 if labels is None else len(labels))
    if len(body) != n_codes * dtype.itemsize:
        raise MessageError("an answer is to another question")
    codes = np.frombuffer(body, dtype).astype(np.int64)
    most = 1 if classes is None else len(classes) - 1
    if (codes > most).any() or (codes < _UNANSWERED).any():
        raise MessageError("an answer is to another question")
    voters: tuple[str, ...] | dict[str, tuple[str, ...]]
    if labels is None:
        voters = tuple(read_field(fields, "voters", list[str]))
    else:
        codes = codes.reshape(n_rows, len(labels))
        by_label = read_field(fields, "voters", dict[str, list[str]])
        if set(by_label) != set(labels):
            raise MessageError("an answer does not name the voters of each label")
        voters = {label: tuple(by_label[label]) for label in labels}
    released, answered = terms.target.private_labels(codes, n_rows)
    return Answer(
        labels=released,
        answered=answered,
        names=labels,
        voters=voters,
        absent=read_field(fields, "absent", dict[str, str]),
        mechanism=terms.agreement.mechanism,
        id=read_field(fields, "question", str),
    )


def decode_outcome(question: str, message: Message, terms: VoteTerms) -> VoteOutcome:
    """Decode the state of a question, or raise `MessageError`."""
    state = read_field(message.fields, "state", str)
    if state not in STATES:
        raise MessageError(f"state={state!r} is none of {STATES}")
    if message.fields.get("answer") is None:
        return VoteOutcome(question, state, None)
    fields = read_field(message.fields, "answer", dict[str, object])
    n_rows = read_field(message.fields, "n_rows", int)
    if n_rows < 1:
        raise MessageError("an answer to a question of no rows")
    return VoteOutcome(question, state, decode_answer(fields, message.body, terms, n_rows))


def _code_type(terms: VoteTerms) -> np.dtype[np.signedinteger]:
    return np.min_scalar_type(-len(terms.classes or ()) - 1).newbyteorder("<")
