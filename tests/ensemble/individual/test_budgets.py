"""Individual budgets end to end: what is spent, said, shared and refused."""

import json
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from tests._quietly import quietly
from tests.ensemble._votes import collect_votes
from tests.ensemble.conftest import make_blobs

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import (
    PrivateTeacherEnsemble,
    PublicData,
    Upsampling,
    Vanishing,
    Weighting,
)
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin

VARIANTS = [Upsampling(), Weighting(), Weighting(balance=False), Vanishing()]
LEVELS = {"strict": 3.0, "generous": 9.0}


X, Y = make_blobs(400)
POOL = make_blobs(50, seed=1)[0]
BUDGETS = np.random.default_rng(2).choice(["strict", "generous"], size=400, p=[0.7, 0.3])


def ensemble_of(individualization, accountant=None, **parameters):
    parameters = {"student": LogisticRegression(), "classes": [0, 1]} | parameters
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=20,
        individualization=individualization,
        accountant=accountant or PrivacyAccountant(LEVELS, 1e-5, order="renyi"),
        **parameters,
        check_public_rows=False,
    )


@cache
def fitted(variant, order="renyi", n_rows=50):
    """An ensemble that has labelled a pool with all of its budget. For all: don't change it.

    Its noise is that of the test that comes first: ask nothing of its labels.
    """
    accountant = PrivacyAccountant(LEVELS, 1e-5, order=order)
    ensemble = ensemble_of(variant, accountant)
    return ensemble.fit(X, Y, X_public=POOL[:n_rows], budgets=BUDGETS)


@pytest.mark.parametrize(
    ("variant", "order", "n_rows"),
    [
        *((variant, "renyi", 50) for variant in VARIANTS),
        *((variant, "gaussian", 8) for variant in (Weighting(), Vanishing())),
    ],
    ids=repr,
)
def test_every_level_stays_within_its_budget(variant, order, n_rows):
    ensemble = fitted(variant, order, n_rows)
    assert ensemble.n_answered_ == n_rows  # the default mechanism fits the whole pool
    shares = {level: each.share for level, each in ensemble.accountant.spent().items()}
    assert 0.99 < max(shares.values()) <= 1
    if variant == Weighting():
        # What a short plan costs of its noisy numbers goes with their size.
        assert min(shares.values()) > (0.99 if order == "renyi" else 0.97)
    plain = fitted(None, order, n_rows)
    # Less noise, relative to what the ballots count, than if all were as strict.
    if variant != Vanishing():
        relative = ensemble.mechanism_.sigma / ensemble.n_teachers_
        assert relative < 0.9 * plain.mechanism_.sigma / 20


@pytest.mark.parametrize("variant", VARIANTS, ids=repr)
def test_labelling_stops_before_a_level_exceeds_its_budget(variant):
    mechanism = ConfidentGNMax(sigma=8, sigma_threshold=8, threshold=8)
    ensemble = ensemble_of(variant, mechanism=mechanism, student=None)
    queries = np.tile(POOL, (40, 1))
    with pytest.warns(UserWarning, match="the budget ended after"):
        ensemble.fit(X, Y, X_public=queries, budgets=BUDGETS)
    assert 0 < ensemble.n_answered_ < 2000
    shares = [each.share for each in ensemble.accountant.spent().values()]
    assert max(shares) <= 1
    with pytest.raises(BudgetExceededError):  # and not before it had to
        ensemble.predict_private(queries[:1])


def labels_with(individualization, epsilons):
    accountant = PrivacyAccountant(epsilons, 1e-5)
    ensemble = ensemble_of(individualization, accountant, random_state=5, mechanism=GNMax(sigma=9))
    quietly(ensemble.fit, X, Y, X_public=POOL, budgets=BUDGETS)
    return ensemble, {level: each.epsilon for level, each in accountant.spent().items()}


def test_equal_budgets_give_the_plain_ensemble_exactly():
    equal = {"strict": 9.0, "generous": 9.0}
    plain, plain_spent = labels_with(None, equal)
    for variant in VARIANTS:
        individual, spent = labels_with(variant, equal)
        np.testing.assert_array_equal(individual.pool_labels_.labels, plain.pool_labels_.labels)
        assert individual.mechanism_ == plain.mechanism_
        votes = [
            collect_votes(e._teachers, POOL, e.classes_, None)["*"] for e in (individual, plain)
        ]
        np.testing.assert_array_equal(*votes)
        assert spent == plain_spent
        assert len(set(spent.values())) == 1


@pytest.mark.parametrize("variant", VARIANTS, ids=repr)
def test_jobs_make_no_difference(variant):
    def labels(n_jobs):
        ensemble = ensemble_of(variant, random_state=5, n_jobs=n_jobs, mechanism=GNMax(sigma=20))
        return quietly(ensemble.fit, X, Y, X_public=POOL, budgets=BUDGETS).pool_labels_.labels

    np.testing.assert_array_equal(labels(1), labels(2))


def test_the_statement_lists_the_guarantee_of_each_level():
    said = {}
    for variant in (None, *VARIANTS):
        ensemble = fitted(variant)
        statement = ensemble.statement()
        assert {each["level"]: each["epsilon"] for each in statement.levels} == LEVELS
        said[str(variant)] = text = " ".join(str(statement).split())
        counts = {level: int((level == BUDGETS).sum()) for level in LEVELS}
        assert f"{counts['generous']} of 'generous', {counts['strict']} of 'strict'" in text
        assert "the epsilon of their own level" in text
        assert ensemble.to_student().privacy["statement"] == statement.to_dict()
    assert "All contributed alike" in said["None"]
    assert "'generous': 5, 'strict': 2 teachers" in said[str(Upsampling())]
    assert "its ballot the weight of that level" in said[str(Weighting())]
    assert "voted in turns decided beforehand" in said[str(Vanishing())]


def test_turns_go_on_where_they_ended():
    ensemble = ensemble_of(Vanishing(), mechanism=GNMax(sigma=12), student=None)
    ensemble.fit(X, Y, budgets=BUDGETS)
    for batch in (POOL[:3], POOL[3:10], POOL[10:11]):
        ensemble.predict_private(batch)
    entries = ensemble.accountant.entries()
    assert [json.loads(each.mechanism)["first_row"] for each in entries] == [0, 3, 10]
    # All parts of a level have paid for about as many votes.
    members = {}
    for entry in entries:
        for group, cost in entry.charges.items():
            if group.startswith("strict/"):
                members[group] = members.get(group, 0) + float(cost.at(2.0))
    assert len(members) > 1
    one = (
        GNMax(sigma=ensemble._labelling.mechanism_for(ensemble, 1).mechanism.sigma)
        .max_cost(2)["*"]
        .at(2.0)
    )
    assert max(members.values()) - min(members.values()) <= one * (1 + 1e-9)


def test_data_dependent_budgets():
    for variant in VARIANTS:
        shares = []
        for accounting in ("data_dependent", "worst_case"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                accountant = PrivacyAccountant(
                    {"strict": 8.0, "generous": 24.0}, 1e-5, accounting=accounting, order="renyi"
                )
            ensemble = ensemble_of(variant, accountant, mechanism=GNMax(sigma=4), student=None)
            ensemble.fit(X, Y, X_public=POOL[:2], budgets=BUDGETS)
            shares.append({level: each.share for level, each in accountant.spent().items()})
        for level in LEVELS:
            assert 0 < shares[0][level] < 0.9 * shares[1][level]


def test_a_named_ledger_keeps_levels_apart(tmp_path):
    path = tmp_path / "budget.db"
    accountant = PrivacyAccountant(LEVELS, 1e-5, ledger=path)
    ensemble = ensemble_of(Upsampling(), accountant).fit(X, Y, X_public=POOL, budgets=BUDGETS)
    again = PrivacyAccountant.open(path)
    assert again.epsilon == LEVELS
    for level, spent in accountant.spent().items():
        assert again.spent()[level].epsilon == spent.epsilon > 0
    revived = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(revived.predict(X), ensemble.predict(X))


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_grid_search_over_individualizations():
    accountant = PrivacyAccountant({"strict": 90.0, "generous": 270.0}, 1e-5, order="renyi")
    grid = {"individualization": [None, *VARIANTS]}
    ensemble = ensemble_of(None, accountant, mechanism=GNMax(sigma=15))
    search = GridSearchCV(ensemble, grid, cv=2, n_jobs=2, refit=False)
    search.fit(X, Y, X_public=PublicData(POOL), budgets=BUDGETS)
    assert accountant.spent()["strict"].n_releases == 2 * len(grid["individualization"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_fit_may_be_capped_per_level():
    accountant = PrivacyAccountant({"strict": 12.0, "generous": 36.0}, 1e-5, order="renyi")
    ensemble = ensemble_of(Weighting(), accountant, epsilon=LEVELS)
    for count in (1, 2):
        ensemble.fit(X, Y, X_public=POOL, budgets=BUDGETS)
        assert accountant.spent()["strict"].n_rows == 50 * count
    capped = fitted(Weighting()).accountant
    assert 1 < accountant.spent()["generous"].epsilon / capped.spent()["generous"].epsilon < 2


def test_owners_of_several_rows():
    owners = np.repeat(np.arange(200), 2)
    budgets = np.where(owners % 2 == 0, "strict", "generous")
    for variant in VARIANTS:
        accountant = PrivacyAccountant(LEVELS, 1e-5, unit="owner", order="renyi")
        ensemble = ensemble_of(variant, accountant)
        ensemble.fit(X, Y, X_public=POOL, owners=owners, budgets=budgets)
        assert "100 of 'strict'" in str(ensemble.statement())


def test_levels_without_individualization_pay_alike():
    spent = fitted(None).accountant.spent()
    assert spent["strict"].share > 0.99
    assert spent["generous"].share < 0.5
    assert spent["strict"].epsilon == pytest.approx(spent["generous"].epsilon)


def test_clones_keep_the_variant():
    for variant in VARIANTS:
        assert clone(ensemble_of(variant)).individualization == variant


def test_turns_are_checked():
    with pytest.raises(ValueError, match="must answer queries"):
        RoundRobin(mechanism="GNMax", turns={"a": (1, 2)})
    with pytest.raises(ValueError, match="turns=.* must be a dict of levels"):
        RoundRobin(mechanism=GNMax(sigma=1), turns={})
    with pytest.raises(ValueError, match=r"turns=\(3, 2\) for level 'a'"):
        RoundRobin(mechanism=GNMax(sigma=1), turns={"a": (3, 2)})
    for inner in (
        RoundRobin(mechanism=GNMax(sigma=1), turns={"a": (1, 2)}),
        GNMax(sigma=1, weight={"b": 1.0}),
    ):
        with pytest.raises(ValueError, match="turns=.* names level 'a', but mechanism=.* charges"):
            RoundRobin(mechanism=inner, turns={"a": (1, 1)})
    with pytest.raises(ValueError, match="first_row=-1"):
        RoundRobin(mechanism=GNMax(sigma=1), turns={"a": (1, 2)}, first_row=-1)


BAD = np.array(BUDGETS, dtype=object)


def with_entry(value):
    changed = BAD.copy()
    changed[7] = value
    return changed


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        (BUDGETS[:-1], "budgets has 399 entries, but X has 400 rows"),
        (with_entry(None), r"budgets\[7\]=None is not a level: every row needs one of"),
        (with_entry(np.nan), r"budgets\[7\]=nan is not a level"),
        (with_entry("lax"), r"budgets\[7\]='lax' is not a level of the accountant"),
        (np.repeat("strict", 400), "no row of budgets is of the level 'generous'"),
        (np.repeat("generous", 400), "no row of budgets is of the level 'strict'"),
        (np.tile(BUDGETS, (2, 1)).T, "budgets has shape"),
    ],
)
@pytest.mark.parametrize("variant", [None, Upsampling()], ids=repr)
def test_bad_levels(budgets, message, variant):
    ensemble = ensemble_of(variant)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, Y, X_public=POOL, budgets=budgets)
    assert not hasattr(ensemble, "_teachers")


def test_levels_differ_within_an_owner():
    accountant = PrivacyAccountant(LEVELS, 1e-5, unit="owner", order="renyi")
    ensemble = ensemble_of(Upsampling(), accountant)
    with pytest.raises(ValueError, match="gives the rows of owner .* different levels"):
        ensemble.fit(X, Y, owners=np.repeat(np.arange(100), 4), budgets=BUDGETS)


@pytest.mark.parametrize("epsilon", [np.inf, -1.0, 0.0, np.nan])
def test_budgets_are_finite_and_positive(epsilon):
    with pytest.raises(ValueError, match="of the level 'generous' must be a finite number above 0"):
        PrivacyAccountant({"strict": 1.0, "generous": epsilon}, 1e-5)


def test_a_mechanism_with_weights_is_refused():
    for mechanism in (GNMax(sigma=9, weight=2.0), GNMax(sigma=9, ballots=2)):
        ensemble = ensemble_of(Weighting(), mechanism=mechanism)
        with pytest.raises(ValueError, match="has a weight or ballots, which"):
            ensemble.fit(X, Y, X_public=POOL, budgets=BUDGETS)


def test_levels_need_an_accountant():
    ensemble = ensemble_of(Upsampling()).set_params(accountant=None)
    with pytest.raises(ValueError, match="budgets names levels of the accountant, but accountant="):
        ensemble.fit(X, Y, budgets=BUDGETS)
