"""Mistakes that the library warned of stand in the privacy statement."""

import pytest
from tests.mistakes._mistake import (
    COLUMNS,
    LABELS,
    POOL,
    PUBLIC_TABLE,
    TABLE,
    TARGETS,
    N,
    X,
    logistic,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData

EXTREMES = {name: (TABLE[name].min(), TABLE[name].max()) for name in COLUMNS}
AGAIN = [*range(N), *range(50)]
BOUNDS, COPIES = "NOT PROTECTED: bounds that are the least", "NOT PROTECTED: people with several"


def fit_with_bounds_of_rows(accountant):
    logistic(accountant, bounds=EXTREMES).fit(TABLE, LABELS)


def fit_with_targets_as_bounds(accountant):
    model = numbers(accountant, target_bounds=(TARGETS.min(), TARGETS.max()))
    model.fit(X, TARGETS, X_public=POOL)


def fit_with_copies(make):
    return lambda accountant: make(accountant).fit(
        TABLE.iloc[AGAIN], LABELS[AGAIN], X_public=PublicData(PUBLIC_TABLE)
    )


def honest_fit(accountant):
    logistic(accountant, bounds=(-9, 9), epsilon=1.0).fit(TABLE, LABELS)
    numbers(accountant).fit(X, TARGETS, X_public=POOL)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (fit_with_bounds_of_rows, BOUNDS),
        (fit_with_targets_as_bounds, BOUNDS),
        (fit_with_copies(logistic), COPIES),
        (fit_with_copies(teachers), COPIES),
        (honest_fit, None),
    ],
)
def test_the_statement_says_what_was_warned_of(fit, said):
    accountant = PrivacyAccountant(4.0, 1e-5)
    fit(accountant)
    statement = " ".join(str(accountant.statement()).split())
    assert ("NOT PROTECTED" in statement) == (said is not None)
    assert said is None or said in statement
