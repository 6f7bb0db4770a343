"""Rows that were left out of one of several tables that belong together."""

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import ALL, LABELS, POOL, TARGETS, N, X, logistic, numbers

from secretballot import PrivacyAccountant
from secretballot.measures import score_private

TABLE = pd.DataFrame(X)
ROWS = TABLE[np.arange(N) % 7 != 3]
WARNED = (
    r"has other index labels than X.*reset_index\(drop=True\).*to_numpy\(\).*NOT FOR PUBLICATION"
)


def target(make):
    return pd.Series(TARGETS if make is numbers else LABELS)


@pytest.mark.parametrize("make", ALL)
def test_other_rows_of_labels_are_warned_of_before_anything_is_paid(make):
    accountant, y = PrivacyAccountant(10.0, 1e-5), target(make)
    for rows, labels in ((ROWS, y[: len(ROWS)]), (TABLE[100:], y[:-100])):
        with pytest.raises(UserWarning, match="y " + WARNED):
            make(accountant, epsilon=4.0).fit(rows, labels, X_public=POOL)
    assert not accountant.entries()


def test_other_rows_of_owners():
    accountant = PrivacyAccountant(10.0, 1e-5, unit="owner")
    owners, y = pd.Series(np.arange(len(ROWS))), target(logistic)[ROWS.index]
    with pytest.raises(UserWarning, match="owners " + WARNED):
        logistic(accountant, epsilon=4.0).fit(ROWS, y, owners=owners, X_public=POOL)
    assert not accountant.entries()


def test_other_rows_of_scores():
    accountant, y = PrivacyAccountant(10.0, 1e-5), target(logistic)
    fitted = logistic(accountant, epsilon=4.0).fit(TABLE, y, X_public=POOL)
    n_entries = len(accountant.entries())
    with pytest.raises(UserWarning, match="y " + WARNED):
        fitted.score_private(ROWS, y[: len(ROWS)], share=0.1)
    with pytest.raises(UserWarning, match="y_pred has other index labels than y_true"):
        score_private(accountant, y[100:], y[:-100], share=0.1)
    assert len(accountant.entries()) == n_entries


def test_the_remedies_and_arrays_pass():
    y = target(logistic)
    kept = y[ROWS.index]
    for rows, labels in (
        (ROWS, kept),
        (ROWS.reset_index(drop=True), kept.reset_index(drop=True)),
        (ROWS, kept.to_numpy()),
        (ROWS.to_numpy(), kept),
        (ROWS, kept.tolist()),
    ):
        logistic(PrivacyAccountant(10.0, 1e-5), epsilon=4.0).fit(rows, labels, X_public=POOL)
