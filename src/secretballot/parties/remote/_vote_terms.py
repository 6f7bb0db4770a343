"""Terms of all votes at a server, compared with the agreement of each party, and settings."""

from __future__ import annotations

import json
from dataclasses import dataclass

from secretballot._base._numbers import check_integer, check_number
from secretballot.ensemble._target import Target
from secretballot.ledger._encoding import to_json
from secretballot.parties._aggregator import TrustedAggregator
from secretballot.parties._agreement import Agreement
from secretballot.parties._credentials import Credentials
from secretballot.parties._message import Fields, MessageError, read_field
from secretballot.parties._motion import Motion
from secretballot.parties._party import Party
from secretballot.parties._question import Question, Table, target_of
from secretballot.parties._stream import MAX_SECONDS


def check_settings(
    agreement: Agreement,
    credentials: Credentials,
    aggregator: TrustedAggregator | None,
    timeout: float,
    max_bytes: int,
) -> TrustedAggregator:
    """Check settings that servers and members share; return the aggregator, by default trusted."""
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
        """Target of the votes."""
        return target_of(self.classes, self.labels)

    def question(self, id: str, asker: str, X: Table) -> Question:
        """Build a question about some rows."""
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
        """Build a vote that the server describes, if a party's own agreement allows it.

        `own_columns` are those that the party votes on. The description has the columns of the
        vote, the weight of the party's ballot, and the voters.
        """
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
    """Return a party's own terms if the aggregator's are the same, or raise `TermsError`.

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
