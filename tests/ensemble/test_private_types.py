"""Types of private columns reach no teacher: a cell that does not fit moves one ballot."""

import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax

N, N_TEACHERS = 80, 8
RNG = np.random.default_rng(3)


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n) + 20 * y,
            "wage": rng.normal(size=n),
            "job": pd.Categorical(np.where(y, "cook", "pilot")),
            "town": rng.choice(["x", "y"], n),
            "day": pd.to_datetime(rng.integers(1, 20, n), unit="D"),
        }
    ), y


ROWS, Y = table(N, 0)
POOL, _ = table(20, 1)

#: Data types of a column of texts; it is of objects before pandas 3.
TEXTS = ["object"] if ROWS["town"].dtype == object else ["str", "object"]
SELECTED = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=TEXTS)),
)


def types(frame):
    """Show each row which types all rows have."""
    texts = [str(dtype) for dtype in frame.dtypes]
    flags = [float(sum(map(ord, text)) % 97) for text in texts]
    return np.column_stack([frame["age"].astype(float), np.tile(flags, (len(frame), 1))])


class Tell(ClassifierMixin, BaseEstimator):
    """Vote by the types of the rows that it was trained on."""

    def fit(self, X, y):
        self.vote_ = sum(map(ord, str(X.dtypes.to_dict()))) % 2
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


LEARNERS = {
    "selector": make_pipeline(SELECTED, LogisticRegression()),
    "types": make_pipeline(FunctionTransformer(types), DecisionTreeClassifier()),
    "tell": Tell(),
}


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.filterwarnings("ignore:.*could not")
def votes(rows, learner, y=Y):
    ensemble = PrivateTeacherEnsemble(
        LEARNERS.get(learner, learner),
        N_TEACHERS,
        classes=[0, 1],
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(1e5, 1e-5),
        random_state=0,
    ).fit(rows, y, X_public=PublicData(POOL))
    return collect_votes(ensemble._teachers, POOL, ensemble.classes_, None)["*"]


@cache
def votes_of_rows(learner):
    return votes(ROWS, learner)


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.filterwarnings("ignore:.*could not")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("name", "cell"),
    [("age", "n/a"), ("age", None), ("age", 0.5), ("wage", "n/a"), ("wage", 1j), ("job", "HIV")]
    + [("town", 5), ("town", None), ("town", [1]), ("day", "never"), ("day", None)],
)
def test_one_cell_moves_one_ballot(learner, name, cell):
    column = [cell, *ROWS[name].tolist()[1:]]
    other = ROWS.assign(**{name: pd.Categorical(column) if name == "job" else pd.Series(column)})
    if name != "job":
        assert (other.dtypes != ROWS.dtypes).any() or cell is None or ROWS[name].dtype == object
    moved = np.abs(votes(other, learner) - votes_of_rows(learner)).sum(axis=1)
    assert moved.max() <= 2


def cells_of(rows):
    return [row[0] for row in (rows.to_numpy() if hasattr(rows, "iloc") else rows)]


class InPlace(ClassifierMixin, BaseEstimator):
    """Change the cells of what it is asked if it was trained on a leak; vote by such changes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def fit(self, X, y):
        self.bad_ = any("leak" in str(cell) for cell in cells_of(X))
        return self

    def predict(self, X):
        votes = np.array([int("evil" in str(cell)) for cell in cells_of(X)])
        for cell in cells_of(X) if self.bad_ else ():
            cell.update(evil=1) if isinstance(cell, dict) else cell.append("evil")
        return votes


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.parametrize("kind", ["array", "frame", "list"])
@pytest.mark.parametrize("cell", [["a"], {"a": 1}])
def test_teachers_share_no_cell(kind, cell):
    def cells(n, first=None):
        column = np.empty((n, 1), dtype=object)
        for at in range(n):
            column[at, 0] = copy.deepcopy(cell)
        if first is not None:
            column[0, 0] = first
        return {"array": column, "frame": pd.DataFrame(column, columns=["c"])}.get(
            kind, column.tolist()
        )

    def of(rows):
        ensemble = PrivateTeacherEnsemble(
            InPlace(),
            8,
            classes=[0, 1],
            mechanism=GNMax(sigma=2.0),
            accountant=PrivacyAccountant(1e5, 1e-5),
            random_state=0,
        )
        pool = cells(5)
        before = copy.deepcopy(pool)
        ensemble.fit(rows, np.arange(80) % 2, X_public=PublicData(pool))
        assert str(pool) == str(before)
        return collect_votes(ensemble._teachers, pool, ensemble.classes_, None)["*"]

    leak = [*cell, "leak"] if isinstance(cell, list) else {"leak": 1}
    moved = np.abs(of(cells(80)) - of(cells(80, leak))).sum(axis=1)
    assert moved.max() <= 2


class OfBatch(ClassifierMixin, BaseEstimator):
    """Predict a class for all rows that come together, by the largest number among them."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.middle_ = np.asarray(X, dtype=float).max()
        return self

    def predict(self, X):
        numbers = np.asarray(X, dtype=float)
        return self.classes_[(numbers[:, 0] / np.abs(numbers).max() > 0.5).astype(int)]


@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
def test_a_student_that_depends_on_other_rows_is_not_scored():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    budget = PrivacyAccountant(100.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        GaussianNB(), 10, student=OfBatch(), classes=[0, 1], epsilon=50.0, accountant=budget
    ).fit(X, y, X_public=PublicData(rng.normal(size=(40, 2))))
    before = len(budget.entries())
    for score in (ensemble.score_private, ensemble.confusion_private):
        with pytest.raises(ValueError, match="that row alone"):
            score(X, y, share=0.05)
    assert len(budget.entries()) == before


class Asked(PrivacyAccountant):
    """Keep the exact numbers of scores."""

    def release(self, mechanism, counts, **options):
        self.asked = np.asarray(counts)
        return super().release(mechanism, counts, **options)


@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
def test_scores_of_neighbouring_data_differ_little():
    budget = Asked(1e3, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LEARNERS["selector"],
        N_TEACHERS,
        student=make_pipeline(SELECTED, DecisionTreeClassifier()),
        classes=[0, 1],
        mechanism=GNMax(sigma=1.0),
        epsilon=500.0,
        accountant=budget,
    ).fit(ROWS, Y, X_public=PublicData(POOL))

    def ask(score, rows):
        score(rows, Y, sigma=5.0)
        return budget.asked

    for score in (ensemble.score_private, ensemble.confusion_private):
        asked = ask(score, ROWS)
        for name, cell in (
            *(("age", "n/a"), ("town", 3), ("job", "HIV")),
            *(("wage", None), ("day", 1j)),
        ):
            column = [cell, *ROWS[name].tolist()[1:]]
            changed = pd.Categorical(column) if name == "job" else pd.Series(column)
            other = ROWS.assign(**{name: changed})
            counts = ask(score, other)
            assert np.abs(asked - counts).sum() <= 2, name
            assert (counts == ask(score, other[ROWS.columns[::-1]])).all(), name


class TellLabels(ClassifierMixin, BaseEstimator):
    """Vote by the type of the labels that it was trained on."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.vote_ = int(y.dtype.kind == "f")
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


@pytest.mark.parametrize("label", [1.0, True, np.float32(0)])
def test_the_type_of_labels_reaches_no_teacher(label):
    kinds = []
    for y in (Y.tolist(), [label, *Y[1:].tolist()]):
        ensemble = PrivateTeacherEnsemble(
            TellLabels(), N_TEACHERS, classes=[0, 1], random_state=0
        ).fit(ROWS[["age", "wage"]], y)
        votes = collect_votes(ensemble._teachers, POOL[["age", "wage"]], ensemble.classes_, None)
        kinds.append(next(iter(votes.values())))
    assert np.abs(kinds[0] - kinds[1]).max() <= 1


def test_errors_that_quote_private_rows_are_marked():
    X, budget = ROWS[["age", "wage"]].to_numpy(), PrivacyAccountant(1.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(GaussianNB(), 4, classes=[0, 1], accountant=budget)
    with pytest.raises(ValueError, match=r"such as \[77\].* NOT FOR PUBLICATION"):
        ensemble.fit(X, [77, *Y[1:]])
    with pytest.raises(ValueError, match="Complex data not supported: X holds") as caught:
        ensemble.fit(X + 0.25j, Y)
    assert "25j" not in str(caught.value)
    assert not budget.entries()
