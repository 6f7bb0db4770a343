"""The ledger of every kind of fit is its plan, and its charge the plan's price."""

import pickle
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from tests.accounting._planned_entries import check_entries
from tests.distributed._parts import OWNER, TARGET, public_rows, split, table

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.accounting import (
    BudgetExceededError,
    LedgerError,
    PlannedRelease,
    ReleasePlan,
)
from secretballot.accounting._release_plan import Run, paid_run
from secretballot.mechanisms import NoisyCounts, VectorSum
from secretballot.tables import PrivateParts
from secretballot.tables._public_rows_check import PublicRowsCheck

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_300, 4))
SCORE = X[:, 0] - 0.5 * X[:, 1] + 0.3 * RNG.normal(size=len(X))
POOL, X = X[4_000:], X[:4_000]
SCORE = SCORE[:4_000]
TARGETS = {
    "two": (SCORE > 0).astype(int),
    "three": np.digitize(SCORE, [-0.5, 0.5]),
    "labels": np.stack([SCORE > 0, X[:, 2] > 0], axis=1).astype(int),
    "number": SCORE,
}
DECLARED = {"bounds": 4 * [(-4, 4)], "pool": None}

KINDS = {
    "two classes": ("two", {}),
    "two classes, no pairs": ("two", {"interactions": 0}),
    "two classes, no check": ("two", {"check_public_rows": False}),
    "two classes, kernels": ("two", {"features": "kernel"}),
    "two classes, linear": ("two", {"features": "linear"}),
    "two classes, transformer": ("two", {"features": PCA(2, random_state=0)}),
    "two classes, declared": ("two", DECLARED),
    "two classes, few public rows": ("two", {"pool": POOL[:40]}),
    "two classes, part of the budget": ("two", {"epsilon": 1.0}),
    "two classes, fixed sizes": ("two", {"rounds": 2, "n_bins": 5, "interactions": 3}),
    "two classes, owners": ("two", {"owners": np.arange(4_000) // 2, "unit": "owner"}),
    "two classes, levels": ("two", {"levels": True}),
    "two classes, chosen columns": ("two", {"columns": [0, 2]}),
    "two classes, monotone": ("two", {"monotonic_cst": [1, 0, 0, 0]}),
    "two classes, Renyi": ("two", {"order": "renyi"}),
    "two classes, data dependent": ("two", {"accounting": "data_dependent"}),
    "three classes": ("three", {}),
    "three classes, compared": ("three", {"epsilon_total": 20.0}),
    "three classes, declared": ("three", DECLARED),
    "labels": ("labels", {}),
    "number": ("number", {}),
    "number, no pairs": ("number", {"interactions": 0}),
    "number, declared": ("number", DECLARED),
    "number, levels": ("number", {"levels": True}),
    "number, kernels": ("number", {"features": "kernel"}),
}


def fit(kind, n_fits=1):
    """Plan fits, make one, and return its accountant, plan, price and entries before it."""
    target, how = KINDS[kind][0], dict(KINDS[kind][1])
    pool, owners = how.pop("pool", POOL), how.pop("owners", None)
    budgets = np.array(["low", "high"])[np.arange(4_000) % 2] if how.pop("levels", False) else None
    epsilon = how.pop("epsilon_total", 4.0) if budgets is None else {"low": 2.0, "high": 4.0}
    budget = {name: how.pop(name) for name in ("unit", "order", "accounting") if name in how}
    accountant = PrivacyAccountant(epsilon, 1e-5, **budget)
    if target == "number":
        model = PrivateLinearRegression(target_bounds=(-3, 3), accountant=accountant, **how)
    else:
        classes = {"two": [0, 1], "three": [0, 1, 2]}.get(target)
        model = PrivateLogisticRegression(classes=classes, accountant=accountant, **how)
    n = len(X) if owners is None else len(np.unique(owners))
    n = n if budgets is None else {"low": 2_000, "high": 2_000}
    public = None if pool is None else PublicData(pool)
    n_labels = 2 if target == "labels" else None
    plan = model.plan_fit(n, public, n_fits=n_fits, n_labels=n_labels)
    price = plan.price(accountant)
    if n_fits > 1:
        model.set_params(epsilon=accountant.epsilon_per_fit(n_fits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, TARGETS[target], X_public=public, owners=owners, budgets=budgets)
    return accountant, plan, price, model


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("few_cosines")
@pytest.mark.parametrize("kind", KINDS)
def test_the_ledger_is_the_plan(kind):
    accountant, plan, price, model = fit(kind)
    n_drawn = check_entries(accountant, plan, price)
    # Of linear fits all is drawn.
    assert n_drawn == {release.name: release.n_rows for release in plan}
    assert sum(release.share for release in plan) == pytest.approx(1.0, abs=1e-5)
    assert ("public rows check" in plan) == (model.public_rows_check_.sigma is not None)


def test_the_plan_of_several_fits_is_that_of_each():
    accountant, plan, price, _ = fit("two classes", n_fits=3)
    check_entries(accountant, plan, price)
    assert accountant.spent().share == pytest.approx(1 / 3, abs=0.01)


def test_rows_in_parts_have_the_plan_of_their_number_of_owners(tmp_path):
    pytest.importorskip("pyarrow")
    rows = split(table(3_000, 1_200), tmp_path / "parts")
    accountant = PrivacyAccountant(4.0, 1e-5, unit="owner")
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    pool = PublicData(public_rows())
    plan = model.plan_fit(rows[OWNER].nunique(), pool)
    price = plan.price(accountant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(
            PrivateParts(tmp_path / "parts", y=TARGET, owners=OWNER, n_buckets=3), X_public=pool
        )
    check_entries(accountant, plan, price)


def test_the_price_of_a_fit_is_that_of_its_plan():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant, epsilon=1.0)
    price = model.price_fit(len(X), POOL)
    assert price.plan == model.plan_fit(len(X), POOL)
    assert price.share["everyone"] == price.plan.price(accountant)
    text = str(price)
    assert all(release.name in text and release.reads in text for release in price.plan)
    assert "public rows check" in price._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, TARGETS["two"], X_public=PublicData(POOL))
    assert accountant.spent().share == pytest.approx(price.share["everyone"], rel=1e-9)


def test_a_fit_that_would_be_refused_has_no_plan():
    accountant = PrivacyAccountant(0.001, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    price = model.price_fit(100, POOL)
    assert price.problem
    assert price.plan is None
    with pytest.raises(BudgetExceededError, match="drown"):
        model.plan_fit(100, POOL)
    with pytest.raises(ValueError, match="too few to say"):
        model.set_params(accountant=PrivacyAccountant(1.0, 1e-5)).plan_fit(10_000, POOL[:1])
    with pytest.raises(ValueError, match="accountant=None"):
        clone(model).set_params(accountant=None).plan_fit(100, POOL)


WRONG = {
    "features": "spline",
    "rounds": "many",
    "n_bins": 1,
    "interactions": -1,
    "class_weight": {"yes": 2.0},
    "label_rate": 0.3,
    "accountant": "mine",
}


@pytest.mark.parametrize("name", WRONG)
def test_parameters_that_a_fit_refuses_have_no_plan(name):
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    model.set_params(**{name: WRONG[name]})
    for ask in (model.plan_fit, model.price_fit):
        with pytest.raises(ValueError, match=name):
            ask(len(X), POOL)


def test_labels_that_a_fit_refuses_have_no_plan():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    with pytest.raises(ValueError, match="2 labels that are present or absent"):
        model.plan_fit(len(X), POOL, n_labels=2)
    model.set_params(classes=[[0, 1]] * 2)
    plan = model.plan_fit(len(X), POOL)
    assert plan == model.set_params(classes=None).plan_fit(len(X), POOL, n_labels=2)
    with pytest.raises(ValueError, match="class_weight"):
        model.set_params(class_weight="balanced").plan_fit(len(X), POOL, n_labels=2)
    teachers = PrivateTeacherEnsemble(GaussianNB(), classes=[0, 1], accountant=accountant)
    with pytest.raises(ValueError, match="2 labels that are present or absent"):
        teachers.price_fit(len(X), POOL, n_labels=2)


def test_epsilon_is_what_each_of_several_fits_takes():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant, epsilon=0.5)
    plan = model.plan_fit(len(X), POOL, n_fits=3)
    assert plan == model.plan_fit(len(X), POOL) == model.price_fit(len(X), POOL, n_fits=3).plan
    assert plan.price(accountant) < 0.05


def test_a_check_that_refuses_gives_the_rest_back():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    plan = model.plan_fit(len(X), POOL)
    check = plan["public rows check"]
    price = accountant.price(check.mechanism, n_columns=1)
    with pytest.raises(ValueError, match="X_public does not match X"):
        model.fit(1_000 * X, TARGETS["two"], X_public=PublicData(POOL))
    assert accountant.spent().share == pytest.approx(price, rel=1e-9)
    check_entries(accountant, plan, plan.price(PrivacyAccountant(4.0, 1e-5)))


def one_more(self, run, totals):
    """Release a count that is not in the plan."""
    run._accountant.release(NoisyCounts(sigma=1e4), [[totals()[0]]], scope=run.scope)
    return DRAW(self, run, totals)


def half_the_noise(self, name, counts):
    """Draw with half of the noise that was paid for."""
    paid = self.plan[name].mechanism
    return self._accountant.release(
        replace(paid, sigma=paid.sigma / 2), counts, reservation=self._reservations[name]
    )


def twice(self, name, counts):
    """Draw each row twice."""
    RELEASE(self, name, counts)
    return RELEASE(self, name, counts)


DRAW, RELEASE = PublicRowsCheck.draw, Run.release


def test_a_release_outside_of_the_plan_is_found(monkeypatch):
    monkeypatch.setattr(PublicRowsCheck, "draw", one_more)
    accountant, plan, price, _ = fit("two classes")
    with pytest.raises(AssertionError):
        check_entries(accountant, plan, price)


@pytest.mark.parametrize("planted", [half_the_noise, twice])
def test_rows_that_were_not_paid_for_are_refused(planted, monkeypatch):
    monkeypatch.setattr(Run, "release", planted)
    with pytest.raises((ValueError, BudgetExceededError), match="can't be drawn|no rows left"):
        fit("two classes")


def test_names_that_are_not_in_the_plan_are_refused(monkeypatch):
    accountant = PrivacyAccountant(4.0, 1e-5)
    plan = PrivateLogisticRegression(classes=[0, 1], accountant=accountant).plan_fit(4_000, POOL)
    with (
        pytest.raises(KeyError, match="scores"),
        paid_run(accountant, plan, scope=accountant.scope(), note={}, noise=lambda *_: None) as run,
    ):
        run.release("scores", [[1.0]])
    assert accountant.spent().share == pytest.approx(0, abs=1e-12)


def no_seed(name, number):
    """Return no seed."""
    return


def test_copies_and_closed_runs_draw_no_more_than_was_paid_for():
    accountant = PrivacyAccountant(4.0, 1e-5)
    paid = PlannedRelease(
        name="sums", mechanism=VectorSum(sigma=20.0), n_rows=2, share=0.1, reads="sums"
    )
    plan = ReleasePlan((paid,))
    with paid_run(accountant, plan, scope=accountant.scope(), note={}, noise=no_seed) as run:
        copied, sent = deepcopy(run), pickle.loads(pickle.dumps(run))
        run.release("sums", [[1.0]])
        copied.plan = ReleasePlan((replace(paid, mechanism=VectorSum(sigma=10.0)),))
        with pytest.raises(ValueError, match="can't be drawn"):
            copied.release("sums", [[1.0]])
        sent.release("sums", [[1.0]])
        for each in (run, sent):
            with pytest.raises(BudgetExceededError, match="no rows left"):
                each.release("sums", [[1.0]])
    for each in (run, copied, sent):
        with pytest.raises(ValueError, match="settled"):
            each.release("sums", [[1.0]])
    assert [entry.n_rows for entry in accountant.entries() if entry.is_release] == [1, 1]


@pytest.mark.parametrize("others", [2, 1])
def test_rows_that_another_handle_drew_are_not_drawn_again(others, tmp_path, monkeypatch):
    """It draws them when the run has its outcome already, and has not recorded it."""
    accountant = PrivacyAccountant(4.0, 1e-5, ledger=tmp_path / "file.ledger")
    paid = PlannedRelease(
        name="sums", mechanism=VectorSum(sigma=20.0), n_rows=2, share=0.1, reads="sums"
    )
    sample = VectorSum.sample

    def outrun(self, counts, rng):
        monkeypatch.undo()
        other = PrivacyAccountant.open(tmp_path / "file.ledger")
        id = other.entries()[0].reservation.id
        other.release(paid.mechanism, [[0.5]] * others, reservation=other.resume(id, self))
        return sample(self, counts, rng)

    with paid_run(
        accountant, ReleasePlan((paid,)), scope=accountant.scope(), note={}, noise=no_seed
    ) as run:
        monkeypatch.setattr(VectorSum, "sample", outrun)
        with pytest.raises((BudgetExceededError, ValueError), match="no rows left|has 1 left"):
            run.release("sums", [[1.0], [1.0]])
        drawn = [entry.n_rows for entry in accountant.entries() if entry.is_release]
        assert drawn == [others]
        if others == 1:
            assert run.release("sums", [[1.0]]).shape == (1, 1)
    assert sum(entry.n_rows for entry in accountant.entries()) == 2


def test_releases_that_do_not_fit_together_are_not_paid_for():
    accountant = PrivacyAccountant(1.0, 1e-5)
    mechanism = accountant.calibrate(VectorSum, 1, share=0.6)
    releases = [
        PlannedRelease(name=name, mechanism=mechanism, n_rows=1, share=0.6, reads="sums")
        for name in ("first", "second")
    ]
    for release in releases:
        assert ReleasePlan((release,)).price(accountant) == pytest.approx(0.6)
    with pytest.raises(BudgetExceededError):
        accountant.reserve_plan(ReleasePlan(tuple(releases)), accountant.scope())
    assert accountant.entries() == []


def test_releases_of_one_name_are_no_plan():
    release = PlannedRelease(
        name="sums", mechanism=VectorSum(sigma=9.0), n_rows=1, share=0.5, reads="sums"
    )
    with pytest.raises(ValueError, match="'sums'"):
        ReleasePlan((release, replace(release, n_rows=2)))


def test_a_reservation_that_was_settled_elsewhere_keeps_no_other_back():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant, epsilon=1.0)
    plan = model.plan_fit(4_000, POOL)
    with paid_run(accountant, plan, scope=accountant.scope(), note={}, noise=no_seed):
        first, second = (
            accountant.resume(entry.reservation.id, release.mechanism)
            for entry, release in list(zip(accountant.entries(), plan, strict=True))[:2]
        )
        accountant.settle(first)
        accountant.top_up(second, n_rows=1)
    events = [entry.reservation.event for entry in accountant.entries()]
    assert events == ["reserve"] * len(plan) + ["settle", "reserve"] + ["settle"] * (len(plan) - 1)
    assert accountant.spent().share == pytest.approx(0, abs=1e-12)


def test_a_refund_that_fails_can_be_made_later(monkeypatch):
    accountant = PrivacyAccountant(4.0, 1e-5)
    plan = PrivateLogisticRegression(classes=[0, 1], accountant=accountant).plan_fit(4_000, POOL)
    with (
        pytest.raises(LedgerError, match="disk full"),
        paid_run(accountant, plan, scope=accountant.scope(), note={}, noise=no_seed),
    ):
        monkeypatch.setattr(type(accountant._ledger), "transact", fail)
    monkeypatch.undo()
    paid = accountant.entries()
    assert [entry.reservation.event for entry in paid] == ["reserve"] * len(plan)
    for entry, release in zip(paid, plan, strict=True):
        accountant.settle(accountant.resume(entry.reservation.id, release.mechanism))
    assert accountant.spent().share == pytest.approx(0, abs=1e-12)


def fail(*_, **__):
    raise LedgerError("disk full")


def test_noise_of_a_fit_is_keyed_by_name_and_number(monkeypatch):
    """A release more, or less, of one name does not move the noise of another."""
    seeds = {}

    def release(self, name, counts):
        seeds.setdefault(name, []).append(self._noise(name, self._n_drawn[name]).spawn_key)
        return RELEASE(self, name, counts)

    monkeypatch.setattr(Run, "release", release)
    found = []
    for how in ({}, {"interactions": 0}, {"check_public_rows": False}):
        seeds.clear()
        accountant = PrivacyAccountant(4.0, 1e-5)
        model = PrivateLogisticRegression(
            classes=[0, 1], accountant=accountant, random_state=0, rounds=2, **how
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, TARGETS["two"], X_public=PublicData(POOL))
        assert len({key for keys in seeds.values() for key in keys}) == sum(
            map(len, seeds.values())
        )
        found.append(dict(seeds))
    assert found[0]["sums"] == found[1]["sums"] == found[2]["sums"]
    assert "pairs" not in found[1]
    assert found[0]["pairs"] == found[2]["pairs"]
