"""Tables of too many columns are refused before they are paid for."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)

#: Largest numbers of columns with 400 public rows, and without: 16 bytes times 2,400 or 2,000
#: reference rows times the square of their number are at most 8 GB.
MOST, MOST_DECLARED = 456, 500
RNG = np.random.default_rng(0)
N, N_PUBLIC = 3_000, 400
X, Y = RNG.normal(size=(N, 520)), np.arange(N) % 2
PUBLIC = RNG.normal(size=(N_PUBLIC, 520))


class Paid(Exception):
    """Raised in place of a payment."""


def pay(*_, **__):
    raise Paid


def classes(**parameters):
    accountant = PrivacyAccountant(1e4, 1e-5)
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant, **parameters)


def numbers(**parameters):
    accountant = PrivacyAccountant(1e4, 1e-5)
    return PrivateLinearRegression(target_bounds=(0, 1), accountant=accountant, **parameters)


def check(model, n_columns, monkeypatch, *, public, problem=""):
    """Fit to some columns, up to the payment; and price the fit."""
    pool = PublicData(public[:, :n_columns]) if public is not None else None
    price = model.price_fit(N, pool)
    assert price.problem == "" if not problem else problem in price.problem
    with monkeypatch.context() as patched:
        patched.setattr(PrivacyAccountant, "reserve_plan", pay)
        with pytest.raises(ValueError if problem else Paid, match=problem or None):
            model.fit(X[:, :n_columns], Y, X_public=pool)
    assert not problem or model.accountant.entries() == []
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_one_column_too_many_is_refused_before_it_is_paid_for(monkeypatch):
    check(classes(), MOST, monkeypatch, public=PUBLIC)
    refused = classes()
    problem = f"Use at most {MOST:,} columns"
    check(refused, MOST + 1, monkeypatch, public=PUBLIC, problem=problem)
    # The remedies suffice, and no less would.
    chosen = classes(columns=list(range(MOST)))
    assert chosen.price_fit(N, PUBLIC[:, : MOST + 1]).problem == ""
    most_rows = int(refused.price_fit(N, PUBLIC[:, : MOST + 1]).problem.split()[-3])
    assert refused.price_fit(N, PUBLIC[:most_rows, : MOST + 1]).problem == ""
    assert refused.price_fit(N, PUBLIC[: most_rows + 1, : MOST + 1]).problem


def test_declared_columns(monkeypatch):
    for n_columns, problem in ((MOST_DECLARED, ""), (MOST_DECLARED + 1, "Use at most 500 columns")):
        model = classes(bounds=np.tile([-4.0, 4.0], (n_columns, 1)))
        check(model, n_columns, monkeypatch, public=None, problem=problem)


def test_piecewise_linear_effects_have_two_entries_a_number(monkeypatch):
    check(numbers(), MOST // 2, monkeypatch, public=PUBLIC)
    problem = f"Use at most {MOST // 2:,} columns"
    check(numbers(), MOST // 2 + 1, monkeypatch, public=PUBLIC, problem=problem)
    # Columns of two values have few features, whose products are small.
    check(numbers(), MOST // 2 + 1, monkeypatch, public=np.sign(PUBLIC))


def test_pairs_count_as_columns():
    public = np.tile(PUBLIC[:, :100], (60, 1))
    assert classes().price_fit(N, public).problem == ""
    assert classes(interactions=0).price_fit(N, public).problem == ""
    assert "square of 160 entries" in classes(interactions=60).price_fit(N, public).problem
