"""What all who vote need to know, said on connecting, and compared with what each agreed to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secretballot.collaboration._aggregator import Aggregator, TrustedAggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration._party import Party
from secretballot.collaboration.secret_sharing import SecretSharingAggregator
from secretballot.ensemble import Target, as_target
from secretballot.ledger import to_json

#: What a member tells on joining: whose budget it spends, as a digest.
LEDGER = "ledger"


class TermsError(ValueError):
    """What the aggregator says is not what a party agreed to."""


@dataclass(frozen=True)
class Terms:
    """What is public of all votes.

    Attributes
    ----------
    agreement : Agreement
    classes : tuple or None
    labels : tuple of str or None
    aggregator : str
        What parties rely on.
    """

    agreement: Agreement
    classes: tuple[Any, ...] | None
    labels: tuple[str, ...] | None
    aggregator: str

    @property
    def target(self) -> Target:
        """What is voted on."""
        if self.classes is not None:
            return as_target(np.array(self.classes))
        return as_target([np.array([0, 1])] * len(self.labels or ()))

    def said(self) -> dict[str, Any]:
        """Return them as JSON can say them: a description, from which nothing is built."""
        return {
            "mechanism": to_json(self.agreement.mechanism.describe(), "agreement.mechanism"),
            "parties": sorted(self.agreement.parties),
            "min_voters": self.agreement.min_voters,
            "weights": {name: float(each) for name, each in self.agreement.weights.items()},
            "classes": None if self.classes is None else list(self.classes),
            "labels": None if self.labels is None else list(self.labels),
            "aggregator": self.aggregator,
        }


def as_aggregator(aggregator: Aggregator | None) -> Aggregator:
    """Return an aggregator that parties elsewhere may use; None is one whom they trust."""
    if aggregator is None:
        return TrustedAggregator()
    if not isinstance(aggregator, Aggregator):
        raise TypeError(f"aggregator={aggregator!r} must be an Aggregator.")
    if isinstance(aggregator, SecretSharingAggregator) and aggregator.addresses is None:
        raise ValueError(
            f"aggregator={aggregator!r} computes on one machine, which sees everything; give "
            "the addresses of three computing parties."
        )
    return aggregator


def accepted(said: Mapping[str, Any], agreement: Agreement, party: Party, aggregator: str) -> Terms:
    """Return the terms that an aggregator said, if they are what a party agreed to.

    Everything but the names of labels is the party's own.

    Raises
    ------
    TermsError
        If they differ; nothing is taken from what was said.
    """
    labels = said.get("labels")
    if party.classes is None and labels is not None:
        if not isinstance(labels, list) or not all(isinstance(each, str) for each in labels):
            raise TermsError("the aggregator's labels are no names")
        unknown = sorted(set(party.labels or ()) - set(labels))
        if unknown or len(set(labels)) != len(labels):
            raise TermsError(
                f"party {party.name!r} knows labels {unknown} that nobody votes on, of {labels}"
            )
        labels = tuple(labels)
    else:
        labels = party.labels
    own = Terms(agreement, party.classes, labels, aggregator)
    for what, mine in own.said().items():
        theirs = said.get(what)
        if json.dumps(theirs, sort_keys=True) != json.dumps(mine, sort_keys=True):
            raise TermsError(
                f"the aggregator's {what} is not what party {party.name!r} agreed to: "
                f"{theirs!r}, instead of {mine!r}"
            )
    return own
