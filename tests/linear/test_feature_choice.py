"""The choice between additive and kernel features: what it depends on, its price, neighbours."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.linear import test_neighbours
from tests.linear.test_neighbours import LEVELS, LIGHT, OWNERS, ROWS, asked, furthest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.linear import _fit_plan, _response
from secretballot.linear._averaged_rounds import AveragedRounds
from secretballot.linear._fit_plan import choose_width
from secretballot.linear._private_sums import RowSums
from secretballot.linear._response import RoundPlan
from secretballot.mechanisms import VectorSum

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")

random_posterior = test_neighbours.random_posterior


@pytest.fixture
def shipped(monkeypatch):
    """Undo the small sizes that the tests of neighbours use."""
    monkeypatch.undo()


def table(kind, n_rows, seed):
    """Return rows and their classes, told by two columns together, or by each column alone."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    if kind == "together":
        return X, (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] * X[:, 3] > 0)
    return X, (X[:, 0] ** 2 > 0.5) + 1 * (np.abs(X[:, 1] - 0.3) > 0.7)


def fit(X, y, pool, epsilon=4.0, **given):
    model = PrivateLogisticRegression(
        classes=range(4), accountant=PrivacyAccountant(epsilon, 1e-5), random_state=0
    )
    return model.set_params(**given).fit(X, y, X_public=PublicData(pool))


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(("kind", "features"), [("together", "kernel"), ("alone", "additive")])
def test_the_better_features_are_chosen(kind, features):
    (X, y), (pool, _), (test, answers) = (
        table(kind, n, seed) for seed, n in enumerate((2_500, 200, 1_000))
    )
    other = "additive" if features == "kernel" else "kernel"
    auto, named = (fit(X, y, pool, epsilon=8.0, features=each) for each in ("auto", other))
    assert auto.features_ == features
    assert auto.score(test, answers) > named.score(test, answers) + 0.05
    assert (auto.n_bins_ is None) == (features == "kernel")
    if features == "kernel":
        with pytest.raises(ValueError, match="only features='additive'"):
            auto.terms(0)
    else:
        assert len(auto.terms(0)) == 4


@pytest.mark.usefixtures("shipped")
def test_comparisons_are_paid_as_rounds_of_the_fit():
    (X, y), (pool, _) = (table("together", n, n) for n in (1_000, 200))
    model = fit(X, y, pool, check_public_rows=False)
    assert 0.99 < model.accountant.spent().share <= 1
    charges = [entry.charges.get("everyone") for entry in model.accountant.entries()]
    assert sum(cost is not None and cost.at("gaussian") > 0 for cost in charges) == 1


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("target", ["two classes", "labels"])
def test_two_classes_and_labels_have_additive_features_and_pay_nothing_more(target):
    X, y = table("together", 400, 0)
    y, classes = (
        (y % 2, [0, 1]) if target == "two classes" else (np.stack([y % 2, y // 2], 1), None)
    )
    pool = table("together", 150, 1)[0]
    auto, additive = (
        fit(X, y, pool, features=features, classes=classes) for features in ("auto", "additive")
    )
    assert auto.features_ == additive.features_ == "additive"
    assert (auto.coef_ == additive.coef_).all()
    costs = [
        [
            cost.at("gaussian")
            for entry in model.accountant.entries()
            for cost in entry.charges.values()
        ]
        for model in (auto, additive)
    ]
    assert costs[0] == costs[1]


def rows(n_rows, seed, n_columns=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)), rng.integers(3, size=n_rows)


POOL = rows(120, 1_000)[0]


def comparisons(questions):
    """Return the comparisons among the questions of a fit."""
    return [counts for mechanism, counts in questions if counts.size == 1]


def test_public_numbers_decide_whether_features_are_compared():
    pool = POOL
    tables = [rows(60, seed) for seed in (2, 3)]
    tables.append((np.full((60, 3), 1e300), np.zeros(60, int)))
    runs = [asked(X, y, pool, classes=range(3)) for X, y in tables]
    # The same mechanisms in the same order, with as many numbers, for any private table.
    for questions in runs:
        assert [m for m, _ in questions] == [m for m, _ in runs[0]]
        assert [c.shape for _, c in questions] == [c.shape for _, c in runs[0]]
        assert len(comparisons(questions)) == 1


def texts(X):
    return pd.DataFrame(X, columns=list("abc")).assign(
        d=np.where(X[:, 0] > 0, "x", "y"), e="z", f=np.where(X[:, 1] > 0, "x", "y"), g="z"
    )


@pytest.mark.filterwarnings("ignore:.*tell a model little")
@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda X, y, pool: (X, y, pool), {"features": "additive"}),
        (lambda X, y, pool: (X, y % 2, pool), {"classes": range(2)}),
        (lambda X, y, pool: (X, y, pool[:99]), {}),
        (lambda X, y, pool: (X, y, None), {"bounds": (-3, 3)}),
        (lambda X, y, pool: (X[:9], y[:9], pool), {}),
        (lambda X, y, pool: (texts(X), y, texts(pool)), {}),
    ],
    ids=["named", "two classes", "few public rows", "none", "few private rows", "categories"],
)
def test_features_are_not_compared(change, given):
    X, y, pool = change(*rows(60, 2), POOL)
    questions = asked(X, y, pool, **{"classes": range(3), **given})
    assert not comparisons(questions)


@pytest.mark.filterwarnings("ignore:.*follows from what was released")
@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        ([2.01], "kernel"),
        ([-0.51], "additive"),
        ([1.99, 0.51], "kernel"),
        ([-0.49, 0.51], "kernel"),
        ([1.99, 0.49], "additive"),
    ],
)
def test_the_first_clear_comparison_decides_and_the_winner_takes_what_is_left(
    answers, chosen, monkeypatch
):
    release, given = ROWS.release, iter(answers)

    def compared(mechanism, counts, **how):
        noisy = release(mechanism, counts, **how)
        return np.full(counts.shape, next(given) * mechanism.sigma) if counts.size == 1 else noisy

    monkeypatch.setattr(ROWS, "release", compared, raising=False)
    model = PrivateLogisticRegression(
        classes=range(3), accountant=ROWS, rounds=20, check_public_rows=False
    )
    ROWS.asked = []
    X, y = rows(60, 2)
    model.fit(X, y, X_public=PublicData(POOL))
    assert not list(given)
    assert model.features_ == chosen
    assert model.mechanism_ == ROWS.asked[-1][0]
    # 15 % of 21 rounds are 3, of which 2 come before the first comparison.
    n_lost = (2 if len(answers) == 1 else 3) + len(answers)
    assert len(ROWS.asked) == 21 + 3
    assert 1 + model.n_rounds_ == 21 + 3 - n_lost


def row_neighbours():
    """Return the furthest of neighbours that differ in one row, of rounds and of comparisons."""
    pool, worst, compared = POOL, Fraction(0), Fraction(0)
    for seed in range(8):
        X, y = rows(41, seed)
        Z, z = X.copy(), y.copy()
        Z[0], z[0] = X[0] * (-1) ** seed, (y[0] + 1 + seed // 2 % 2) % 3
        runs = [asked(*each, pool, classes=range(3)) for each in ((X, y), (Z, z))]
        worst = max(worst, furthest(*runs))
        compared = max(compared, furthest(*([q for q in run if q[1].size == 1] for run in runs)))
    return worst, compared


def test_neighbouring_rows_move_sums_by_their_charge():
    worst, compared = row_neighbours()
    assert 0.5 < worst <= 1
    assert (
        1 - 1e-9 < compared <= 1
    )  # a row that one model alone predicts right, and one that the other does


def owner_neighbours():
    """Return the furthest of an owner whose rows are others, and more of them."""
    worst, pool = Fraction(0), POOL
    others, labels = rows(61, 5)
    for more in (1, 7, 40):
        runs = []
        for n, seed in ((3, 7), (more, 8)):
            own, classes = rows(n, seed)
            X, y = np.concatenate([own, others]), np.concatenate([classes, labels])
            owners = np.concatenate([np.zeros(n, int), np.arange(61) % 7 + 1])
            runs.append(asked(X, y, pool, OWNERS, owners=owners, classes=range(3)))
        worst = max(worst, furthest(*runs))
    return worst


def level_neighbours():
    """Return the furthest of neighbours for each level, of comparisons."""
    (X, y), pool, worst = rows(40, 9), POOL, {}
    levels = np.array(["low", "high"])[np.arange(40) % 2]
    for place, level in list(enumerate(levels))[:8]:
        z = y.copy()
        z[place] = (y[place] + 1) % 3
        how = {"budgets": levels, "classes": range(3)}
        runs = [asked(X, each, pool, LEVELS, **how) for each in (y, z)]
        compared = furthest(*([q for q in run if q[1].size == 1] for run in runs), level)
        worst[level] = max(worst.get(level, 0), furthest(*runs, level), compared)
    return worst


@pytest.fixture
def noisy_enough(monkeypatch):
    """Compare features of few people."""
    monkeypatch.setattr(_fit_plan, "_MOST_ERROR", 10.0)


@pytest.mark.usefixtures("noisy_enough")
def test_neighbouring_owners_and_levels_move_sums_by_their_charge():
    assert 0.2 < owner_neighbours() <= 1
    assert all(0.2 < each <= 1 for each in level_neighbours().values())


def count_rows(self, coefficients, norm):
    """Count the rows of a class, one by kernel features and another by bins; not people."""
    _, features = next(self.blocks())
    return np.array([np.sum(self.targets == int(isinstance(features, np.ndarray)))])


def half_as_far(self, sums, radius, name="sums"):
    """Release sums as if right answers moved by 1 at most."""
    return NOISY_SUMS(self, sums, radius / 2 if sums.size == 1 else radius, name)


NOISY_SUMS = RoundPlan.noisy_sums
PLANTED = {
    # Each row of an owner counts.
    "owner": (RowSums, "right_sum", count_rows),
    # A row's gain is charged as a count of right answers.
    "gain": (RoundPlan, "noisy_sums", half_as_far),
    # The heavy level doesn't pay for its weight.
    "level": (_response, "VectorSum", lambda weight, **how: VectorSum(weight=LIGHT, **how)),
}


@pytest.mark.usefixtures("noisy_enough")
@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_fail_the_check(error, monkeypatch):
    monkeypatch.setattr(*PLANTED[error])
    if error == "owner":
        assert owner_neighbours() > 1
    elif error == "level":
        assert level_neighbours()["high"] > 1
    else:
        assert row_neighbours()[1] > 1


def test_right_predictions_do_not_depend_on_other_rows():
    rng = np.random.default_rng(3)
    features, coefficients = rng.normal(size=(200, 5)), rng.normal(size=(6, 3))
    length = float(np.linalg.norm(features, axis=1).max())

    scores = features @ coefficients[1:] + coefficients[0]
    codes = np.where(rng.random(200) < 0.7, scores.argmax(axis=1), rng.integers(3, size=200))

    def right(places):
        shares = np.full(len(places), 1 / 3)
        private = RowSums(lambda part: features[places][part], codes[places], shares, 200.0, 5)
        return private.right_sum(coefficients, length)[0]

    assert right(np.arange(200)) == sum(right([place]) for place in range(200))
    n_right = np.sum(codes == scores.argmax(axis=1))
    assert abs(right(np.arange(200)) - n_right / 3) < 0.5
    assert 0.5 < n_right / 200 < 0.99


def test_interrupted_rounds_are_those_of_one_run(monkeypatch):
    X, y = rows(60, 2)
    runs = []
    finish = AveragedRounds.finish

    def interrupted(self, n_rounds):
        self.advance(2)
        self.right_sum()
        return finish(self, n_rounds)

    for method in (finish, interrupted):
        monkeypatch.setattr(AveragedRounds, "finish", method)
        runs.append(asked(X, y, POOL, classes=range(3), features="additive"))
    for one, other in zip(*runs, strict=True):
        assert (one[1] == other[1]).all()


def test_width_of_kernels_follows_the_signal_of_a_class():
    widths = [choose_width(signal, 10) for signal in (0.0, 600.0, 1200.0, 2000.0, 1e9)]
    assert widths == pytest.approx([1 / 16, 0.09, 0.36, 1.0, 1.0])
    assert choose_width(600.0, 3) == choose_width(1200.0, 6) == 1.0
