"""Checks of the settings that a server and its members share."""

from __future__ import annotations

from secretballot._numbers import check_integer, check_number
from secretballot.collaboration._aggregator import Aggregator, TrustedAggregator
from secretballot.collaboration._agreement import Agreement
from secretballot.collaboration.secret_sharing import SecretSharingAggregator
from secretballot.transport import MAX_SECONDS, Credentials


def check_settings(
    agreement: Agreement, credentials: Credentials, timeout: float, max_bytes: int
) -> None:
    """Check an agreement, credentials and limits."""
    if not isinstance(agreement, Agreement):
        raise TypeError(f"agreement={agreement!r} must be an Agreement.")
    if not isinstance(credentials, Credentials):
        raise TypeError(f"credentials={credentials!r} must be Credentials.")
    check_number("timeout", timeout, above=0, below=MAX_SECONDS)
    check_integer("max_bytes", max_bytes)


def remote_aggregator(aggregator: Aggregator | None) -> Aggregator:
    """Check that parties elsewhere may use an aggregator; None is one whom they trust."""
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
