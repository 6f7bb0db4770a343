"""Terms of all votes at a server, compared with each party's agreement, and answers as messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secretballot._base._numbers import check_integer, check_number
from secretballot.ensemble._target import Target
from secretballot.ledger._entry import to_json
from secretballot.mechanisms._noisy_max import UNANSWERED
from secretballot.parties._aggregator import TrustedAggregator
from secretballot.parties._agreement import Agreement
from secretballot.parties._channel import Credentials
from secretballot.parties._party import Party
from secretballot.parties._question import Motion, Question, Table, target_of
from secretballot.parties._stream import (
    MAX_SECONDS,
    Buffer,
    Fields,
    Message,
    MessageError,
    read_field,
)
from secretballot.parties._vote import Answer

#: Reasons for which a party can't vote. It never says more, which only it may know.
NO_BUDGET, NO_COLUMNS = "budget", "columns"

#: States of a vote: going on; nothing was opened, and nothing will be; opened; and not known.
VOTING, VOID, OPENED, UNKNOWN = STATES = ("voting", "void", "opened", "unknown")


class VoteOutcome(NamedTuple):
    """State of a question, and its answer.

    Attributes
    ----------
    question : str
        Its id, as it is in the ledgers of voters.
    state : {"voting", "void", "opened", "unknown"}
        ``"voting"``: it is voted on now. ``"void"``: nothing was opened, and nothing will be;
        voters that heard of it took back their payment. ``"opened"``: it is paid. ``"unknown"``:
        it failed while it was opened, or is not one that the server has held since it was started;
        what was reserved for it stays charged.
    answer : Answer or None
        Where it was opened, to the party that asked, until it asks again.

    Examples
    --------
    >>> from secretballot.parties import VoteOutcome
    >>> VoteOutcome("3f2a", "void", None).state
    'void'
    """

    question: str
    state: str
    answer: Answer | None


def check_settings(
    agreement: Agreement,
    credentials: Credentials,
    aggregator: TrustedAggregator | None,
    timeout: float,
    max_bytes: int,
) -> TrustedAggregator:
    if not isinstance(agreement, Agreement):
        raise TypeError(f"agreement={agreement!r} must be an Agreement.")
    if not isinstance(credentials, Credentials):
        raise TypeError(f"credentials={credentials!r} must be Credentials.")
    check_number("timeout", timeout, above=0, below=MAX_SECONDS)
    check_integer("max_bytes", max_bytes)
    if aggregator is None:
        return TrustedAggregator()
    if not isinstance(aggregator, TrustedAggregator):
        raise TypeError(f"aggregator={aggregator!r} must be a TrustedAggregator.")
    return aggregator


class TermsError(ValueError):
    """The aggregator's terms are not what a party agreed to."""


@dataclass(frozen=True)
class VoteTerms:
    """Public facts of all votes; `aggregator` is the kind that parties rely on."""

    agreement: Agreement
    classes: tuple[object, ...] | None
    labels: tuple[str, ...] | None
    aggregator: str

    @property
    def target(self) -> Target:
        return target_of(self.classes, self.labels)

    def question(self, id: str, asker: str, X: Table) -> Question:
        return Question(
            id=id,
            asker=asker,
            X=X,
            classes=self.classes,
            labels=self.labels,
            aggregator=self.aggregator,
        )

    def fields(self) -> dict[str, object]:
        """Describe the terms as JSON, from which nothing is built."""
        weights = self.agreement.weights.items()
        return {
            "mechanism": to_json(self.agreement.mechanism.describe(), "agreement.mechanism"),
            "parties": sorted(self.agreement.parties),
            "min_voters": self.agreement.min_voters,
            "weights": {name: float(weight) for name, weight in weights},
            "classes": None if self.classes is None else list(self.classes),
            "labels": None if self.labels is None else list(self.labels),
            "aggregator": self.aggregator,
        }

    def motion(
        self, fields: Fields, name: str, own_columns: tuple[int, ...], asker: str | None
    ) -> Motion:
        """Build a vote that the server describes, if a party's own agreement allows it."""
        if set(fields) != {"columns", "weight", "voters"}:
            raise MessageError(f"a vote is described by {sorted(fields)}")
        columns = tuple(read_field(fields, "columns", list[int]))
        voters, weight = read_field(fields, "voters", list[str]), self.agreement.weight(name)
        # With classes there is one vote, on all of them.
        is_whole = self.classes is None or columns == own_columns
        if not (columns and is_whole and set(columns) <= set(own_columns)):
            raise MessageError(f"a vote on columns {columns} of {own_columns}")
        if fields.get("weight") != weight:
            raise MessageError(f"a ballot of weight {fields.get('weight')!r} instead of {weight:g}")
        if name not in voters:
            raise MessageError(f"a vote without {name!r}")
        try:
            return self.agreement.motion(columns, voters, self.labels, asker=asker).sent_to(name)
        except ValueError as error:
            raise MessageError(f"a vote that was not agreed on: {error}") from None


def check_terms(
    fields: Fields, agreement: Agreement, party: Party, aggregator: TrustedAggregator
) -> VoteTerms:
    """Return a party's own terms, or raise `TermsError` if the aggregator's differ.

    Only names of labels are taken from the aggregator.
    """
    labels = party.labels
    if party.classes is None and fields.get("labels") is not None:
        try:
            labels = tuple(read_field(fields, "labels", list[str]))
        except MessageError:
            raise TermsError("the aggregator's labels are no names") from None
        unknown = sorted(set(party.labels or ()) - set(labels))
        if unknown or len(set(labels)) != len(labels):
            raise TermsError(
                f"party {party.name!r} knows labels {unknown} that nobody votes on, of "
                f"{list(labels)}"
            )
    terms = VoteTerms(agreement, party.classes, labels, aggregator.trust)
    for name, value in terms.fields().items():
        other = fields.get(name)
        if json.dumps(other, sort_keys=True) != json.dumps(value, sort_keys=True):
            raise TermsError(
                f"the aggregator's {name} is not what party {party.name!r} agreed to: "
                f"{other!r}, instead of {value!r}"
            )
    return terms


def encode_answer(answer: Answer, terms: VoteTerms) -> Message:
    """Encode an answer: positions of classes, or 1, 0 and -1 for labels."""
    codes = answer.labels
    if terms.classes is not None:
        positions = {label: code for code, label in enumerate(terms.classes)}
        rows = zip(answer.labels.tolist(), answer.answered.tolist(), strict=True)
        codes = np.array(
            [positions[label] if is_answered else UNANSWERED for label, is_answered in rows]
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
    if (codes > most).any() or (codes < UNANSWERED).any():
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
