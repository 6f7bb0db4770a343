"""The noisy count of private rows outside of the public ones: its findings, cost and privacy."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from tests.screening._checked_fits import (
    POOL,
    N,
    Stopped,
    X,
    Y,
    in_days,
    in_thousands,
    linear,
    measured,
    released,
    teachers,
)

from secretballot import (
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.mechanisms import NoisyCounts
from secretballot.tables._public_rows_check import PublicRowsCheck, cells_outside


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize("make", [linear, teachers])
def test_other_units_are_refused_before_the_fit_is_paid_for(make, order):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order)
    rows = np.concatenate([X, X + 0.1, X - 0.1])
    message = (
        r"X_public does not match X: .*check_public_rows=False\. .* is 0\. NOT FOR PUBLICATION"
    )
    with pytest.raises(ValueError, match=message):
        make(accountant).fit(in_days(rows), np.tile(Y, 3), X_public=PublicData(POOL[:30]))
    (entry,) = released(accountant)
    assert json.loads(entry.note)["measured"] == "rows outside of the public rows"
    assert 0 < accountant.spent().share <= 0.01


@pytest.mark.parametrize("make", [linear, teachers])
def test_a_pipeline_step_that_skips_public_rows_is_found(make):
    accountant = PrivacyAccountant(1.0, 1e-5)
    steps = make_pipeline(FunctionTransformer(in_thousands), make(accountant))
    name = f"{steps.steps[-1][0]}__X_public"
    with pytest.raises(ValueError, match="X_public does not match X.*the same steps of a Pipeline"):
        steps.fit(X, Y, **{name: PublicData(POOL[:30])})
    assert len(released(accountant)) == 1


@pytest.mark.parametrize("make", [linear, teachers])
def test_matching_public_rows_pass_within_the_budget(make):
    accountant = PrivacyAccountant(1.0, 1e-5)
    fitted = make(accountant).fit(X, Y, X_public=PublicData(POOL[:30]))
    check = fitted.public_rows_check_
    assert check.count < N / 4
    assert check.n == N
    assert check.sigma == 0.08 * N
    assert len(measured(accountant)) == 1
    assert 0.9 < accountant.spent().share <= 1
    assert "checked for" in str(check)


@pytest.mark.parametrize("make", [linear, teachers])
def test_the_check_can_be_switched_off(make):
    accountant = PrivacyAccountant(1.0, 1e-5)
    fitted = make(accountant, check_public_rows=False)
    fitted.fit(X, Y, X_public=PublicData(POOL[:30]))
    assert fitted.public_rows_check_.skipped == "check_public_rows=False"
    assert not measured(accountant)


@pytest.mark.parametrize(("n", "made"), [(400, False), (600, True), (40_000, True)])
def test_the_check_costs_at_most_a_hundredth(n, made):
    accountant = PrivacyAccountant(1.0, 1e-5)
    check = PublicRowsCheck.of(accountant, n, POOL, accountant.scope(), is_wanted=True)
    assert (check.sigma is not None) == made
    assert ("more than 1%" in str(check)) != made
    if made:
        assert check.sigma == min(0.08 * n, 1000)
        assert check.share <= 0.01
        priced = accountant.price(NoisyCounts(sigma=check.sigma), n_columns=1)
        assert check.share == pytest.approx(priced, rel=1e-6)


def test_the_check_of_a_capped_fit_and_of_levels():
    accountant = PrivacyAccountant({"low": 0.5, "high": 4.0}, 1e-5)
    shares = [
        PublicRowsCheck.of(accountant, 5000, POOL, accountant.scope(epsilon), is_wanted=True).share
        for epsilon in (None, 0.4, 0.2)
    ]
    assert shares == sorted(shares)
    strict = PrivacyAccountant(0.5, 1e-5)
    alone = PublicRowsCheck.of(strict, 5000, POOL, strict.scope(), is_wanted=True).share
    assert shares[0] == pytest.approx(alone, rel=1e-6)


def test_few_public_rows_are_not_compared():
    accountant = PrivacyAccountant(1.0, 1e-5)
    for n_public, n_columns, made in ((4, 1, False), (30, 3, True), (20, 500, False)):
        pool = np.zeros((n_public, n_columns))
        check = PublicRowsCheck.of(accountant, 5000, pool, accountant.scope(), is_wanted=True)
        assert (check.sigma is not None) == made
        assert ("public rows show too little" in str(check)) != made


def tables(seed=0, n=300):
    """Return a table with every kind of cell."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "number": rng.normal(size=n),
            "text": rng.choice(["a", "b", "c"], n),
            "category": pandas.Categorical(rng.choice(["x", "y"], n)),
            "time": pandas.to_datetime("2020-01-01") + pandas.to_timedelta(rng.integers(0, 99, n)),
            "truth": rng.random(n) < 0.5,
        }
    )


def test_one_row_moves_each_column_by_one_cell():
    """Brute force: replace a row by rows of every kind; no other row's answer changes."""
    pandas = pytest.importorskip("pandas")
    private, public = tables(1), tables(2, 40)
    before = {name: outside.copy() for name, outside in cells_outside(private, public)}
    assert list(before) == list(private.columns)
    odd = [1e300, "other", None, 3, float("nan"), pandas.Timestamp("1999-01-01"), True, (1, 2), 1j]
    for column in private.columns:
        for cell in odd:
            neighbour = private.astype(object)
            neighbour.loc[17, column] = cell
            for name, outside in cells_outside(neighbour, public):
                changed = np.flatnonzero(outside != before[name])
                assert set(changed) <= ({17} if name == column else set())


def test_cells_outside_of_each_kind():
    pandas = pytest.importorskip("pandas")
    public = pandas.DataFrame({"n": [1.0, 2, 2, 2], "t": ["a", "b"] * 2, "m": [1.0, None, 1, 1]})
    private = pandas.DataFrame(
        {"n": [0.5, 1.5, 9, None], "t": ["a", "c", None, "b"], "m": [1.0, 2.0, None, 1.0]}
    )
    # Names and free text, of which public rows say nothing.
    names = pandas.DataFrame({"t": ["a", "b", "c", "d"]})
    ((_, outside),) = cells_outside(private[["t"]], names)
    assert not outside.any()
    outside_of = {name: outside.tolist() for name, outside in cells_outside(private, public)}
    assert outside_of["n"] == [True, False, True, True]
    assert outside_of["t"] == [False, True, True, False]
    assert outside_of["m"] == [False, True, False, False]
    # No public cell is a finite number: no private one is known.
    infinite = pandas.DataFrame({"n": [np.inf, -np.inf] * 2})
    ((_, outside),) = cells_outside(private[["n"]], infinite)
    assert outside.tolist() == [True, True, True, False]
    # By name, whatever the order.
    swapped = dict(cells_outside(private[["m", "t", "n"]], public))
    assert {name: each.tolist() for name, each in swapped.items()} == outside_of


def test_an_owner_counts_once():
    accountant = PrivacyAccountant(4.0, 1e-5, unit="owner")
    owners = np.minimum(np.arange(N), 999)  # the last has a third of all rows
    strange = X.copy()
    strange[999:] *= 1000
    fitted = teachers(accountant).fit(strange, Y, X_public=PublicData(POOL[:30]), owners=owners)
    assert fitted.public_rows_check_.n == 1000
    assert fitted.public_rows_check_.count < 400


def test_the_column_name_is_not_published():
    accountant = PrivacyAccountant(1.0, 1e-5)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(in_days(X), columns=["age", "b", "c"])
    public = pandas.DataFrame(POOL, columns=["age", "b", "c"])
    with pytest.raises(ValueError, match="The column is 'age'"):
        linear(accountant).fit(frame, Y, X_public=public)
    assert "age" not in repr([entry.note for entry in accountant.entries()])
    assert "'age'" not in str(accountant.statement())


PRIVATE_CELLS = {
    "texts": lambda n: ["forty"] * n,
    "infinite": lambda n: [np.inf] * n,
    "lists": lambda n: [[40]] * n,
    "dates": lambda n: [np.datetime64("2020-01-01")] * n,
}


@pytest.mark.parametrize("missing", [False, True], ids=["all there", "public ones missing"])
@pytest.mark.parametrize("cells", PRIVATE_CELLS)
@pytest.mark.parametrize("make", [linear, teachers])
def test_a_column_of_misfits_is_refused_before_the_fit_is_paid_for(make, cells, missing):
    pandas = pytest.importorskip("pandas")
    rows, pool = pandas.DataFrame(X), pandas.DataFrame(POOL[:30])
    rows.columns = pool.columns = ["age", "b", "c"]
    if missing:
        pool.loc[3, "age"] = np.nan
    rows["age"] = pandas.Series(PRIVATE_CELLS[cells](N), dtype=object)
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="X_public does not match X.*The column is 'age'"):
        make(accountant).fit(rows, Y, X_public=PublicData(pool))
    assert len(measured(accountant)) == len(released(accountant)) == 1
    assert accountant.spent().share <= 0.01


@pytest.mark.parametrize("kind", ["category", "text"])
@pytest.mark.parametrize("missing", [False, True], ids=["all there", "public ones missing"])
@pytest.mark.parametrize("make", [linear, teachers])
def test_categories_that_no_public_row_shows_are_refused(make, missing, kind):
    pandas = pytest.importorskip("pandas")
    dtype = {"category": "category", "text": object}[kind]
    rows, pool = pandas.DataFrame({"b": X[:, 1]}), pandas.DataFrame({"b": POOL[:30, 1]})
    rows["job"] = pandas.Series(["pilot", "nurse"] * (N // 2), dtype=dtype)
    pool["job"] = pandas.Series(["Pilot", "Nurse", "Nurse"] * 10, dtype=dtype)
    if missing and make is teachers:  # the other one refuses it by itself
        pool.loc[3, "job"] = None
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="X_public does not match X.*The column is 'job'"):
        make(accountant).fit(rows, Y, X_public=PublicData(pool))
    assert len(released(accountant)) == 1


def test_an_array_of_misfits_is_refused():
    rows = X.astype(object)
    rows[:, 1] = "n/a"
    for pool in (POOL, np.where(np.arange(3) == 1, POOL, np.nan)[:30]):
        public = np.concatenate([POOL[:30], pool])
        outside_of = dict(cells_outside(rows, public))
        assert outside_of[1].all()
        assert outside_of[0].mean() < 0.5


@pytest.mark.parametrize("codes", [["p", "n"], [3, 7]], ids=["texts", "numbers"])
def test_declared_categories_are_public_ones(codes):
    pandas = pytest.importorskip("pandas")
    rows, pool = pandas.DataFrame({"b": X[:, 1]}), pandas.DataFrame({"b": POOL[:30, 1]})
    rows["job"] = pandas.Series(codes * (N // 2)).astype("category")
    pool["job"] = pandas.Series(["other"] * 30).astype("category")
    declared = {"job": ["other", *codes]}
    accountant = PrivacyAccountant(1.0, 1e-5)
    fitted = linear(accountant, categories=declared).fit(rows, Y, X_public=PublicData(pool))
    assert fitted.public_rows_check_.count < N / 2
    learner = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    budget = PrivacyAccountant(1.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        learner, 40, classes=[0, 1], categories=declared, accountant=budget
    )
    fitted = ensemble.fit(rows, Y, X_public=PublicData(pool))
    assert fitted.public_rows_check_.count < N / 2
    assert not dict(cells_outside(rows, pool, declared))["job"].any()
    assert dict(cells_outside(rows, pool))["job"].all()
    numbers = pandas.DataFrame({"job": [1, 2] * 15})
    assert not dict(cells_outside(rows[["job"]], numbers, {"job": [1, 2, *codes]}))["job"].any()


@pytest.mark.parametrize("unit", ["row", "owner"])
@pytest.mark.parametrize("make", [linear, teachers])
def test_one_person_moves_the_released_count_by_no_more_than_is_charged(make, unit, monkeypatch):
    released = []

    def record(accountant, mechanism, counts, **_):
        released.append((mechanism, np.asarray(counts, dtype=float)))
        raise Stopped

    monkeypatch.setattr(PrivacyAccountant, "release", record)
    owners = None if unit == "row" else np.arange(N) // 3
    # Of one owner all three rows are replaced: inside of the pool's range, then outside of it.
    people = slice(0, 1) if unit == "row" else slice(0, 3)
    for cell in (50.0, 1e9, -1e9, np.nan):
        neighbour = X.copy()
        neighbour[people] = cell
        model = make(PrivacyAccountant(4.0, 1e-5, unit=unit))
        if make is teachers:
            model.set_params(n_teachers=50)
        with pytest.raises(Stopped):
            model.fit(neighbour, Y, X_public=PublicData(POOL), owners=owners)
    (mechanism, inside), *others = released
    assert mechanism == NoisyCounts(sigma=mechanism.sigma)  # one person moves its counts by 1
    moves = [float(np.abs(counts - inside).max()) for _, counts in others]
    assert max(moves) == pytest.approx(1.0)
    assert {other for other, _ in others} == {mechanism}
