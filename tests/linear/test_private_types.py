"""Types of private columns: neighbours of any type move sums by no more than is charged."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from tests.linear.test_neighbours import asked, furthest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

N = 60
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)
POOL = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, 40),
        "wage": RNG.normal(size=40),
        "job": pd.Categorical(RNG.choice(["cook", "pilot"], 40)),
        "span": pd.to_timedelta(RNG.integers(4, size=40), unit="D"),
        "count": RNG.integers(4, size=40).astype(str),
    }
)
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, N),
        "wage": RNG.normal(size=N),
        "job": pd.Categorical(RNG.choice(["cook", "pilot"], N)),
        "span": pd.to_timedelta(RNG.integers(4, size=N), unit="D"),
        "count": RNG.integers(4, size=N),
    }
)


def codes(frame):
    """Number categories as their type lists them."""
    return np.column_stack([frame["job"].cat.codes, frame["age"].astype(float)])


def one_hot(frame):
    return pd.get_dummies(frame[["job"]]).astype(float)


def replaced(name, cell):
    """Return the private rows with another cell in the first."""
    column = [cell, *ROWS[name].tolist()[1:]]
    if name == "job":
        column = pd.Categorical(column)
    return ROWS.assign(**{name: pd.Series(column)})


NUMBERS = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include=["int64", "float64"])),
    (OneHotEncoder(handle_unknown="ignore"), ["job"]),
)
HOW = {
    "codes": {"features": FunctionTransformer(codes)},
    "one hot": {"features": FunctionTransformer(one_hot)},
    "selector": {"features": NUMBERS},
    "linear": {"features": "linear"},
    "additive": {"n_bins": 3},
}


@cache
def asked_of_rows(how):
    return asked(ROWS, Y, POOL, classes=[0, 1], **HOW[how])


CELLS = [
    ("job", "baker"),
    ("job", None),
    ("age", "n/a"),
    ("age", None),
    ("wage", "n/a"),
    ("wage", 2j),
    ("span", "long"),
    ("count", 1j),
    ("count", None),
    ("count", 0.5),
]
#: What two of them read.
READ = {"codes": ("job", "age"), "one hot": ("job",)}


@pytest.mark.parametrize(
    ("how", "name", "cell"),
    [(how, *cell) for how in HOW for cell in CELLS if cell[0] in READ.get(how, cell)],
)
def test_type_of_one_cell(how, name, cell):
    other = asked(replaced(name, cell), Y, POOL, classes=[0, 1], **HOW[how])
    assert furthest(asked_of_rows(how), other) <= 1


@pytest.mark.parametrize("name", ["span", "count"])
def test_type_of_one_cell_with_declared_categories(name):
    declared = {"classes": [0, 1], "categories": {name: ROWS[name].unique().tolist()}}
    run = asked(ROWS[[name]], Y, None, **declared)
    for cell in ("long", 1j, None, 0.5, [1]):
        other = asked(replaced(name, cell)[[name]], Y, None, **declared)
        assert furthest(run, other) <= 1, cell


def test_type_of_one_cell_with_declared_bounds():
    declared = {"classes": [0, 1], "bounds": (0, 60)}
    run = asked(ROWS[["age"]], Y, None, **declared)
    for cell in ("n/a", None, np.inf, 1j):
        assert furthest(run, asked(replaced("age", cell)[["age"]], Y, None, **declared)) <= 1


def test_columns_are_matched_by_name():
    runs = [asked(ROWS, Y, rows, classes=[0, 1]) for rows in (POOL, POOL[POOL.columns[::-1]])]
    assert furthest(*runs) == 0


@pytest.mark.filterwarnings("ignore:.*are none of its declared categories")
def test_a_category_that_no_public_row_shows_is_left_out_or_declared():
    kind = pd.CategoricalDtype(["cook", "HIV", "pilot"])
    pool = POOL.assign(job=POOL["job"].astype(kind))

    def labels(**given):
        budget = PrivacyAccountant(1.0, 1e-5)
        model = PrivateLogisticRegression(classes=[0, 1], accountant=budget, **given)
        model.fit(ROWS, Y, X_public=PublicData(pool))
        return next(term.labels for term in model.terms() if term.name == "job")

    with pytest.warns(UserWarning, match="'job' lists 1 categor.*no public row.*categories="):
        assert labels() == ("cook", "pilot", "others", "missing")
    assert labels(categories={"job": ["cook", "HIV"]}) == ("HIV", "cook", "others", "missing")


def batch(frame):
    """Scale by the largest of the rows that come together."""
    numbers = frame[["age", "wage"]].to_numpy(dtype=float)
    return numbers / np.abs(numbers).max(axis=0)


def ranks(frame):
    return frame[["age", "wage"]].rank().to_numpy() / 100


def place(frame):
    """Make of a row what depends on where it stands."""
    return np.arange(len(frame))[:, None] % 2 + frame[["age"]].to_numpy()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("transform", [batch, ranks, place])
def test_row_dependent_transformers_are_refused(transform, seed):
    rng = np.random.default_rng(seed)
    pool = pd.DataFrame({"age": rng.integers(20, 60, 30), "wage": rng.normal(size=30)})
    budget = PrivacyAccountant(1.0, 1e-5)
    features = FrozenEstimator(FunctionTransformer(transform).fit(pool))
    model = PrivateLogisticRegression(features, classes=[0, 1], accountant=budget)
    with pytest.raises(ValueError, match="that row alone"):
        model.fit(ROWS[["age", "wage"]], Y, X_public=PublicData(pool))
    assert not budget.entries()


def test_rounding_passes_the_independence_check():
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    rows = (1e3 + rng.normal(size=(400, 40)) * np.logspace(0, -3, 40)).astype(np.float32)
    budget = PrivacyAccountant(1.0, 1e-5)
    features = make_pipeline(StandardScaler(), PCA(30))
    model = PrivateLogisticRegression(features, classes=[0, 1], accountant=budget)
    model.fit(rows[:300], np.arange(300) % 2, X_public=PublicData(rows[300:]))
    assert budget.entries()


class Counted(PrivacyAccountant):
    """Keep the exact numbers of scores."""

    def release(self, mechanism, counts, **options):
        self.counted = np.asarray(counts)
        return super().release(mechanism, counts, **options)


@pytest.mark.filterwarnings("ignore:the column 'job' of X_public has one value for each label")
@pytest.mark.parametrize("how", HOW)
def test_scores_read_private_rows_as_fits_do(how):
    budget = Counted(100.0, 1e-5)
    model = PrivateLogisticRegression(**HOW[how], classes=[0, 1], epsilon=50.0, accountant=budget)
    y = (ROWS["job"] == "pilot").astype(int).to_numpy()
    model.fit(ROWS, y, X_public=PublicData(POOL))
    for score in (model.score_private, model.confusion_private):
        score(ROWS, y, sigma=5.0)
        counted = budget.counted
        for name, cell in (("job", "baker"), ("age", "n/a"), ("wage", 1j), ("count", None)):
            other, counts = replaced(name, cell), []
            for rows in (other, other[ROWS.columns[::-1]]):
                score(rows, y, sigma=5.0)
                counts.append(budget.counted)
            assert np.abs(counted - counts[0]).sum() <= 2
            assert (counts[0] == counts[1]).all()


@pytest.mark.parametrize("known", [[1.0, 2.0, 3.0], [True, False]])
@pytest.mark.parametrize("cell", ["x", None, 7, True, 2.5, [1]])
def test_one_cell_of_a_list_without_public_rows(known, cell):
    rng = np.random.default_rng(2)
    X = [[known[rng.integers(len(known))], float(rng.random())] for _ in range(N)]
    neighbour = [[cell, 0.5], *X[1:]]
    declared = {"classes": [0, 1], "categories": {0: known}, "bounds": {1: (0, 1)}}
    runs = [asked(table, Y, None, **declared) for table in (X, neighbour)]
    assert furthest(*runs) <= 1


def test_complex_cells_without_public_rows_are_missing_and_not_shown():
    X = np.arange(2.0 * N).reshape(N, 2)
    declared = {"classes": [0, 1], "bounds": (0, 100)}
    runs = [asked(table, Y, None, **declared) for table in (X, X.astype(complex))]
    assert furthest(*runs) == 0
