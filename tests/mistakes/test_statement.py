"""Mistakes that private rows show are warned of, and leave no trace in what is kept."""

import warnings

import pytest
from tests.mistakes._mistake import (
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

BOUNDS, COPIES = "least and largest private value", "copies of other rows"
ENDS = {name: (TABLE[name].min(), TABLE[name].max()) for name in TABLE}
AGAIN = [*range(N), 0]


def fit_between_ends_of_rows(accountant, is_honest):
    rows = TABLE.clip(TABLE.min() + 0.1, axis=1) if is_honest else TABLE
    logistic(accountant, bounds=ENDS).fit(rows, LABELS)


def fit_between_ends_of_targets(accountant, is_honest):
    targets = TARGETS.clip(TARGETS.min() + 0.1) if is_honest else TARGETS
    ends = TARGETS.min(), TARGETS.max()
    numbers(accountant, target_bounds=ends).fit(X, targets, X_public=POOL)


def fit_with_a_copy(make):
    def fit(accountant, is_honest):
        rows = TABLE.iloc[AGAIN]
        if is_honest:
            rows.iloc[-1] += 1
        make(accountant).fit(rows, LABELS[AGAIN], X_public=PublicData(PUBLIC_TABLE))

    return fit


def warned_and_kept(fit, is_honest):
    accountant = PrivacyAccountant(4.0, 1e-5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(accountant, is_honest)
    entries, statement = accountant.entries(), accountant.statement()
    kept = [(entry.mechanism, entry.note) for entry in entries]
    kept += [statement.summary, statement.outside, statement.recorded, statement.assumptions]
    return [str(warning.message) for warning in caught], kept


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (fit_between_ends_of_rows, BOUNDS),
        (fit_between_ends_of_targets, BOUNDS),
        (fit_with_a_copy(logistic), COPIES),
        (fit_with_a_copy(teachers), COPIES),
    ],
)
def test_what_private_rows_show_is_only_warned_of(fit, said):
    (messages, kept), (others, kept_of_others) = (warned_and_kept(fit, so) for so in (False, True))
    (message,) = set(messages) - set(others)
    assert said in message
    assert message.endswith("NOT FOR PUBLICATION, as it depends on private rows.")
    assert kept == kept_of_others
