"""An aggregator that the tests of a worker share, and voters with fixed ballots."""

from __future__ import annotations

import pytest

from secretballot.collaboration import SecretSharingAggregator


@pytest.fixture(scope="session")
def sharing():
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    with SecretSharingAggregator(timeout=60) as made:
        yield made
