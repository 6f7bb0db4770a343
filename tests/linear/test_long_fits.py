"""Fits that take long: printed progress, and products of matrices on one thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.inspection import show_progress

pytestmark = pytest.mark.usefixtures("few_cosines")
RNG = np.random.default_rng(0)
X, POOL = RNG.normal(size=(2_000, 3)), PublicData(RNG.normal(size=(200, 3)))


def logistic(**given):
    accountant = PrivacyAccountant(2.0, 1e-6)
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant, rounds=3, **given)


def numbers(**given):
    accountant = PrivacyAccountant(2.0, 1e-6)
    return PrivateLinearRegression(target_bounds=(0, 1), accountant=accountant, rounds=3, **given)


MODELS = pytest.mark.parametrize("make", [logistic, numbers])


@MODELS
def test_verbose_fits_print_rounds(make, capsys):
    make().fit(X, X[:, 0] > 0, X_public=POOL)
    assert capsys.readouterr().out == ""
    model = make(verbose=1).fit(X, X[:, 0] > 0, X_public=POOL)
    lines = capsys.readouterr().out.splitlines()
    n_rounds, name = len(lines), type(model).__name__
    assert n_rounds > 3
    assert lines == [f"[{name}] rounds: {n} of {n_rounds}" for n in range(1, n_rounds + 1)]


@MODELS
def test_verbose_is_a_number(make):
    with pytest.raises(ValueError, match=r"'verbose' .* Got -1"):
        make(verbose=-1).fit(X, X[:, 0] > 0, X_public=POOL)


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@MODELS
@pytest.mark.parametrize("features", ["additive", "kernel"])
def test_rounds_run_on_one_thread(make, features):
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with show_progress(lambda name, done, total: seen.append((name, blas_threads()))):
            make(features=features).fit(X, X[:, 0] > 0, X_public=POOL)
        assert blas_threads() == before
    rounds = [threads for name, threads in seen if name == "ask private rows"]
    assert rounds[1:-1] == [{1}] * (len(rounds) - 2) != []


@MODELS
def test_a_fit_that_fails_leaves_the_threads_as_they_were(make):
    def fail(name, done, total):
        if name == "ask private rows" and done:
            raise KeyboardInterrupt

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with show_progress(fail), pytest.raises(KeyboardInterrupt):
            make().fit(X, X[:, 0] > 0, X_public=POOL)
        assert blas_threads() == before
