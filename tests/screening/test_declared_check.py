"""The check of declared bounds and categories, without public rows."""

import json

import numpy as np
import pytest
from tests.screening._checked_fits import N, Stopped, X, Y, linear, measured, released

from secretballot import (
    PrivacyAccountant,
)
from secretballot.mechanisms import NoisyCounts

COLUMNS = ["age", "pay", "job"]
DECLARED = {
    "bounds": {"age": (0, 100), "pay": (0, 100)},
    "categories": {"job": ["nurse", "pilot"]},
}


def answers(n=N):
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(np.resize(X[:, :2], (n, 2)).clip(1, 99), columns=COLUMNS[:2])
    return rows.assign(job=np.resize(["nurse", "pilot"], n))


def checks(accountant):
    counted = "rows outside of declared bounds and categories"
    return [each for each in measured(accountant) if json.loads(each.note)["measured"] == counted]


MISDECLARED = {
    "another unit": {"bounds": {"age": (0, 1), "pay": (0, 100)}},
    "other spellings": {"categories": {"job": ["Nurse", "Pilot"]}},
}


@pytest.mark.parametrize("wrong", MISDECLARED)
def test_wrong_declarations_are_refused_for_a_hundredth(wrong):
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = linear(accountant, **{**DECLARED, **MISDECLARED[wrong]})
    message = (
        r"bounds or categories do not match X: about \d+% .*The column is '(age|job)'\. NOT FOR"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(answers(), Y)
    assert len(checks(accountant)) == len(released(accountant)) == 1
    assert 0 < accountant.spent().share <= 0.01
    said = "without looking at private rows, and are public"
    assert said in " ".join(str(accountant.statement()).split())


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.parametrize("n_inside", [N // 2 - 1, N // 2, N // 2 + 1])
def test_no_exact_count_decides_about_declared_bounds(n_inside):
    """Three refusals would bracket the median: none comes unpaid, and none is exact."""
    rows = answers()
    rows["age"] = np.where(np.arange(N) < n_inside, 30.0, 150.0)
    refused = []
    for seed in range(12):
        accountant = PrivacyAccountant(1.0, 1e-5)
        model = linear(accountant, random_state=seed, **DECLARED)
        try:
            model.fit(rows, Y)
        except ValueError:
            refused.append(accountant.spent().share)
        assert len(checks(accountant)) == 1
    assert 0 < len(refused) < 12
    assert 0 < min(refused) <= max(refused) <= 0.01


def test_declared_columns_that_match_pass_within_the_budget():
    accountant = PrivacyAccountant(1.0, 1e-5)
    rows = answers()
    rows.loc[:300, "age"] = np.nan  # missing cells are not outside
    rows.loc[:500, "pay"] = 1e6
    rows.loc[::4, "job"] = "cook"
    check = linear(accountant, **DECLARED).fit(rows, Y).public_rows_check_
    assert check.is_declared
    assert 501 - 4 * check.sigma < check.count < 501 + 4 * check.sigma
    assert "declared columns checked for" in str(check)
    assert 0.9 < accountant.spent().share <= 1


def test_no_check_of_few_rows_or_if_switched_off():
    wrong = {**DECLARED, **MISDECLARED["another unit"]}
    for n, options, reason in (
        (400, {}, "it would cost more than 1% of the fit"),
        (N, {"check_public_rows": False}, "check_public_rows=False"),
    ):
        accountant = PrivacyAccountant(1.0, 1e-5)
        fitted = linear(accountant, **wrong, **options).fit(answers(n), np.resize(Y, n))
        assert fitted.public_rows_check_.skipped == reason
        assert str(fitted.public_rows_check_) == f"declared columns not checked: {reason}"
        assert not checks(accountant)


def test_a_column_without_one_readable_number_is_malformed():
    accountant = PrivacyAccountant(1.0, 1e-5)
    rows = answers(300).assign(age="forty")
    with pytest.raises(ValueError, match="no private cell of the column 'age' can be read"):
        linear(accountant, **DECLARED).fit(rows, np.resize(Y, 300))
    assert not accountant.entries()
    rows.loc[7, "age"] = "40"
    with pytest.warns(UserWarning, match="X_public, or what is declared"):  # after the release
        fitted = linear(accountant, **DECLARED).fit(rows, np.resize(Y, 300))
    assert "more than 1%" in fitted.public_rows_check_.skipped


@pytest.mark.parametrize("unit", ["row", "owner"])
@pytest.mark.parametrize("table", ["frame", "array", "chosen columns"])
def test_one_person_moves_the_count_of_declared_columns_by_one(unit, table, monkeypatch):
    released = []

    def record(accountant, mechanism, counts, **_):
        released.append((mechanism, np.asarray(counts, dtype=float)))
        raise Stopped

    monkeypatch.setattr(PrivacyAccountant, "release", record)
    owners = None if unit == "row" else np.arange(N) // 3
    people = slice(0, 1) if unit == "row" else slice(0, 3)
    odd = [50.0, "nurse", 1e9, "other", None, np.nan, (1, 2), 1j, np.datetime64("2020-01-01")]
    for cell in odd:
        neighbour = answers().astype(object)
        for column in COLUMNS:
            neighbour.loc[neighbour.index[people], column] = [cell] * len(neighbour[people])
        model = linear(PrivacyAccountant(4.0, 1e-5, unit=unit), **DECLARED)
        if table == "chosen columns":
            model.set_params(columns=["pay", "job"], bounds={"pay": (0, 100)})
        if table == "array":
            neighbour = neighbour.to_numpy()
            model.set_params(
                bounds={0: (0, 100), 1: (0, 100)}, categories={2: DECLARED["categories"]["job"]}
            )
        with pytest.raises(Stopped):
            model.fit(neighbour, Y, owners=owners)
    (mechanism, inside), *others = released
    assert mechanism == NoisyCounts(sigma=mechanism.sigma)
    moves = [float(np.abs(counts - inside).max()) for _, counts in others]
    assert max(moves) == pytest.approx(1.0)
    assert {other for other, _ in others} == {mechanism}
