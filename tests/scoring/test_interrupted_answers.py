"""Ctrl-C after a release: the interrupt carries the finished answer, not only noisy numbers."""

import itertools
import signal

import numpy as np
import pandas as pd
import pytest
from tests._programs import interrupts_arrive

from secretballot import PrivacyAccountant, PrivateLinearRegression, PrivateLogisticRegression
from secretballot._base import _interrupts
from secretballot._base._interrupts import HeldInterrupts
from secretballot.accounting import CompletedInterrupt
from secretballot.measures import (
    PrivateConfusion,
    PrivateItems,
    PrivateQuantiles,
    PrivateRegressionScore,
    PrivateScore,
    confusion_private,
    private_quantiles,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.quantification import Bags, PublishedProportions, publish_proportions

RNG = np.random.default_rng(0)
N = 400
LABELS, GUESSES = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
NUMBERS = RNG.uniform(0, 1, N)
TABLE = pd.DataFrame({"age": RNG.integers(20, 60, N), "hours": RNG.normal(40, 5, N)})
BAGS = Bags.from_groups(None, LABELS, np.repeat(np.arange(4), N // 4))
BOUNDS = {"age": (0, 100), "hours": (0, 100)}


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    with interrupts_arrive():
        yield


def classifier(accountant):
    model = PrivateLogisticRegression(
        bounds=BOUNDS, classes=[0, 1], accountant=accountant, epsilon=30.0
    )
    return model.fit(TABLE, LABELS)


def regressor(accountant):
    model = PrivateLinearRegression(
        bounds=BOUNDS, target_bounds=(0, 1), accountant=accountant, epsilon=30.0
    )
    return model.fit(TABLE, NUMBERS)


#: By name: function that fits a model (or None), call, and type of the answer.
ANSWERS = {
    "score": (
        None,
        lambda a, _: score_private(a, LABELS, GUESSES, epsilon=9.0),
        PrivateScore,
    ),
    "confusion": (
        None,
        lambda a, _: confusion_private(a, LABELS, GUESSES, classes=[0, 1], epsilon=9.0),
        PrivateConfusion,
    ),
    "score of numbers": (
        None,
        lambda a, _: regression_score_private(
            a, NUMBERS, NUMBERS / 2, target_bounds=(0, 1), epsilon=9.0
        ),
        PrivateRegressionScore,
    ),
    "quantiles": (
        None,
        lambda a, _: private_quantiles(TABLE, 0.5, bounds=BOUNDS, accountant=a, epsilon=9.0),
        PrivateQuantiles,
    ),
    "top k": (
        None,
        lambda a, _: private_top_k(pd.get_dummies(TABLE["age"]), 3, accountant=a, epsilon=9.0),
        PrivateItems,
    ),
    "score of a model": (
        classifier,
        lambda _, model: model.score_private(TABLE, LABELS, epsilon=9.0),
        PrivateScore,
    ),
    "score of a regression": (
        regressor,
        lambda _, model: model.score_private(TABLE, NUMBERS, epsilon=9.0),
        PrivateRegressionScore,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("moment", ["drawn", "returned"])
def test_the_answer_is_kept(name, moment, monkeypatch):
    prepare, ask, kind = ANSWERS[name]
    accountant = PrivacyAccountant(99.0, 1e-5)
    prepared = prepare and prepare(accountant)
    # Quantiles check their bounds first, by a release of its own.
    interrupt_release(monkeypatch, moment, at=2 if name == "quantiles" else 1)
    with pytest.raises(CompletedInterrupt) as interrupt:
        ask(accountant, prepared)
    assert isinstance(interrupt.value.answer, kind)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moment", ["drawn", "returned"])
def test_published_proportions_are_kept(moment, monkeypatch):
    interrupt_release(monkeypatch, moment)
    with pytest.raises(CompletedInterrupt) as interrupt:
        publish_proportions(BAGS, epsilon=5.0, delta=1e-6, classes=[0, 1])
    assert isinstance(interrupt.value.answer, PublishedProportions)


def test_an_interrupted_check_ends_the_call(monkeypatch):
    accountant = PrivacyAccountant(99.0, 1e-5)
    interrupt_release(monkeypatch, "drawn", at=1)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        private_quantiles(TABLE, 0.5, bounds=BOUNDS, accountant=accountant, epsilon=9.0)
    assert not isinstance(interrupt.value, CompletedInterrupt)
    assert len(accountant.entries()) == 1


def test_a_block_that_has_ended_holds_nothing():
    # An interrupt may leave a block in the context: the next release must not revive it.
    with HeldInterrupts() as ended:
        pass
    before = _interrupts._ENCLOSING.get()
    try:
        _interrupts._ENCLOSING.set(ended)
        PrivacyAccountant(1.0, 1e-5)
    finally:
        _interrupts._ENCLOSING.set(before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def interrupt_release(monkeypatch, moment, at=1):
    """Send SIGINT when the entry of a release was written, or when `release` has returned."""
    inner, n_releases = PrivacyAccountant.release, itertools.count(1)

    def release(self, *args, **options):
        if next(n_releases) != at:
            return inner(self, *args, **options)
        ledger = self._ledger
        write = ledger._store.write

        def written(record):
            answer = write(record)
            if moment == "drawn":
                signal.raise_signal(signal.SIGINT)
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "write", written)
            outcome = inner(self, *args, **options)
        if moment == "returned":
            signal.raise_signal(signal.SIGINT)
        return outcome

    monkeypatch.setattr(PrivacyAccountant, "release", release)
