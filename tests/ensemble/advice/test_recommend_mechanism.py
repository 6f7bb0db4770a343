"""Advice on votes: what it expects is what simulated ballots give, and it says why."""

import numpy as np
import pytest

from secretballot.ensemble import MechanismAdvice, recommend_mechanism
from secretballot.ensemble.advice._expected_balance import expected_balance
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting, count_ballots

N_ROWS, N_TEACHERS, N_LABELS = 400, 40, 6


def simulated(mechanism, ballots, n_positives, rng):
    """Balanced accuracy of rows of which the first labels are present."""
    if isinstance(mechanism, PowersetVoting):
        counts = count_ballots(ballots)
    else:
        counts = sum(
            mechanism.counting(N_LABELS).begin(ballots[:, i], 1).astype(float)
            for i in range(N_TEACHERS)
        )
    labels = mechanism.sample(mechanism.check_counts(counts), rng)
    return (labels[:, :n_positives].mean() + 1 - labels[:, n_positives:].mean()) / 2


@pytest.mark.parametrize("agreement", [0.7, 0.95])
@pytest.mark.parametrize("n_positives", [1, 3])
@pytest.mark.parametrize("sigma", [3.0, 12.0])
def test_what_is_expected_is_what_ballots_give(agreement, n_positives, sigma):
    rng = np.random.default_rng(5)
    truth = (np.arange(N_LABELS) < n_positives).astype(int)
    # About 6 standard errors of the mean of 2,400 labels, the model's own error aside.
    close = 0.05
    wrong = rng.random((N_ROWS, N_TEACHERS, N_LABELS)) > agreement
    ballots = np.where(wrong, 1 - truth, truth)
    guessed = (N_TEACHERS, N_LABELS, agreement, n_positives)
    binary = BinaryVoting(sigma=sigma, n_votes=N_TEACHERS)
    seen = simulated(binary, ballots, n_positives, rng)
    assert expected_balance(binary, *guessed, 0.0) == pytest.approx(seen, abs=close)
    # Ballots of as many labels as the row has: of two labels that change one is lost.
    swapped = np.repeat([truth], N_ROWS * N_TEACHERS, axis=0).reshape(ballots.shape)
    tau = TauVoting(sigma=sigma, n_votes=N_TEACHERS, tau=1.3)
    seen = simulated(tau, swapped, n_positives, rng)
    assert expected_balance(tau, *guessed[:2], 1.0, n_positives, 0.0) == pytest.approx(
        seen, abs=close
    )
    for correlation in (0.0, 1.0):
        together = agreement ** (1 + (N_LABELS - 1) * (1 - correlation))
        fails = rng.random((N_ROWS, N_TEACHERS, 1)) > together
        one = np.arange(N_LABELS) == rng.integers(N_LABELS, size=(N_ROWS, N_TEACHERS, 1))
        sets = np.where(fails & one, 1 - truth, truth)
        powerset = PowersetVoting(sigma=sigma, n_labels=N_LABELS)
        seen = simulated(powerset, sets, n_positives, rng)
        expected = expected_balance(powerset, *guessed, correlation)
        assert expected == pytest.approx(seen, abs=close)


def advice(**parameters):
    given = {"n_teachers": 50, "n_labels": 8, "n_queries": 10, "epsilon": 3.5, "delta": 1e-5}
    return recommend_mechanism(**(given | parameters))


def test_few_labels_of_many_are_clipped():
    found = advice(n_positives=2)
    assert isinstance(found, MechanismAdvice)
    assert isinstance(found.mechanism, TauVoting)
    assert found.mechanism.tau == pytest.approx(np.sqrt(2))
    assert "rows have few labels" in found.reason
    assert "expected balanced accuracy" in str(found)
    # Twice tau^2 must be below the number of labels, or nothing is saved.
    assert list(advice(n_positives=4).candidates) == ["Binary", "Powerset"]


def test_ballots_that_agree_on_whole_sets_are_voted_on_as_sets():
    found = advice(correlation=1.0, agreement=0.95, epsilon=1.3)
    assert isinstance(found.mechanism, PowersetVoting)
    assert isinstance(advice(epsilon=1.3).mechanism, BinaryVoting)


def test_what_cannot_be_paid_is_said():
    found = advice(epsilon=0.02, n_labels=3)
    assert "None of them is worth its budget" in found.reason
    # Nothing but noise: sets are drawn by lot, and half of their labels are right.
    drowned = PowersetVoting(sigma=1e6, n_labels=3)
    assert expected_balance(drowned, 50, 3, 0.9, 1, 0.0) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"agreement": 0.5}, "agreement=0.5 must be above 0.5"),
        ({"correlation": 1.5}, "correlation=1.5 must be from 0 to 1"),
        ({"n_labels": 1}, "n_labels=1 must be an integer of at least 2"),
        ({"n_positives": 9}, "n_positives=9 must be an integer from 1 to 8"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        advice(**parameters)
