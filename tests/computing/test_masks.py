"""What computing parties see while they compare is as random as their shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, chi2
from tests.computing._votes import part

from secretballot.computing import Panel, Processes, Recipients, deliver

# The keys are those of other processes: false alarms at most 1e-7 in all.
ALARM = 1e-7 / 10
N_ROWS, BITS = 2_048, 4


@pytest.fixture(scope="module")
def tell():
    """Ask three telling parties about rows of one number."""
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    with pytest.MonkeyPatch.context() as patch:
        program = str(Path(__file__).with_name("_telling_party.py"))
        patch.setattr("secretballot.computing._processes._PROGRAM", (program,))
        processes = Processes(timeout=60)
    panel = Panel(processes.addresses, processes.token, timeout=60)

    def ask(number, rule, bits=BITS):
        # Of two columns they make bits, of three they tell three digits of the first one's mask.
        numbers = np.full((N_ROWS, 2 if rule == "plurality" else 3), number)
        one = part(numbers, bits=bits, rule=rule)
        there = Recipients(panel.begin([one.vote]), panel.addresses, processes.token)
        deliver("a", [one], there)
        return panel.winners(there.session, one.vote)

    yield ask
    panel.close()
    processes.close()


@pytest.mark.unseeded
def test_random_bits_are_fair_and_independent_of_each_sender(tell):
    # Nobody's, the first one's and the second one's part is known.
    made = [tell(0, "plurality", bits).ravel() for bits in (9, 2, 3)]
    assert set(made[0]) == {0, 1}
    for bits in (*made, made[0] ^ made[1], made[0][1:] ^ made[0][:-1]):
        assert binomtest(int(bits.sum()), len(bits)).pvalue > ALARM


@pytest.mark.unseeded
@pytest.mark.parametrize("number", [-8, 3])
def test_masked_numbers_are_uniform_whatever_is_compared(tell, number):
    for digits in tell(number, "negative").T:
        frequencies = np.bincount(digits, minlength=16)
        statistic = ((frequencies - N_ROWS / 16) ** 2 / (N_ROWS / 16)).sum()
        assert chi2.sf(statistic, 15) > ALARM
