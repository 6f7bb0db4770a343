"""Ctrl-C at every moment of a release from a server."""

import pytest
from tests._fakes import Pure, basic_budget, spend, votes
from tests.ledger._interrupted import RECORDING, interrupt_everywhere

from secretballot.accounting import CompletedInterrupt


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_at_every_moment_of_a_release(url):
    basic_budget(url, 1e6)

    def release(accountant):
        return accountant.release(Pure(epsilon=0.25), votes(2))

    kept = 0
    for answer, error in interrupt_everywhere(url, release, spend, folders=RECORDING):
        if error is None or isinstance(error, CompletedInterrupt):
            assert answer.tolist() == [0, 0]
            kept += error is not None
    assert kept > 10
