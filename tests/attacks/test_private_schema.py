"""Types, texts, categories and codes of private columns, against every public entry point.

Neighbours differ in one row. What is released may move by what is charged, and no further.
"""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes
from tests.linear.test_neighbours import asked, furthest
from tests.schema.test_row_schema import CELLS

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.ensemble import PrivateTeacherEnsemble, PublicStudent
from secretballot.ensemble._shards import ShardReader
from secretballot.ensemble._target import as_target
from secretballot.ensemble.student._student_choice import count_right_answers
from secretballot.mechanisms import GNMax
from secretballot.tables._people import People
from secretballot.tables._private_rows import PrivateRows
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowCalls
from secretballot.tables._rowwise_check import choose_calls

pytestmark = pytest.mark.filterwarnings("ignore:.*dates are read as days")
N, N_POOL = 64, 30
Y = np.arange(N) % 2
#: Between classes of one size, what moves all rows alike cancels in the first sum.
Y_OF_SUMS = (np.arange(N) % 4 == 0).astype(int)
CLASSES = np.array([0, 1])


def table(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "wage": rng.normal(size=n),
            "job": pd.Categorical(rng.choice(["cook", "pilot"], n)),
            "town": rng.choice(["x", "y"], n),
            "day": pd.to_datetime(rng.integers(1, 20, n), unit="D"),
            "span": pd.to_timedelta(rng.integers(1, 20, n), unit="h"),
            "vote": rng.random(n) < 0.5,
        }
    )


ROWS, POOL = table(N, 0), table(N_POOL, 1)


def told(frame):
    """Show in each row the types and categories of all."""
    listed = [f"{kind} {getattr(kind, 'categories', '')}" for kind in frame.dtypes]
    flags = [sum(map(ord, text)) % 101 / 10.0 for text in listed]
    numbers = frame.select_dtypes(["int64", "float64"]).fillna(0).sum(axis=1)
    return np.column_stack([numbers, np.tile(flags, (len(frame), 1))])


def one_hot(frame):
    return pd.get_dummies(frame[["job"]]).to_numpy(dtype=float)


SELECTED = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include=["int64", "float64"])),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=["category"])),
    (OneHotEncoder(), make_column_selector(dtype_include=["str", "object"])),
)
FEATURES = {
    "additive": {"n_bins": 3},
    "linear": {"features": "linear"},
    "told": {"features": FunctionTransformer(told)},
    "one hot": {"features": FunctionTransformer(one_hot)},
    "selected": {"features": SELECTED},
}


def neighbours(every=1):
    """Yield the private rows with one cell that is something else.

    Of cells that give a column the same type and categories, every so many-th; the first always.
    """
    for name in ROWS.columns:
        alike = Counter()
        for cell in CELLS:
            column = ROWS[name].tolist()
            column[0] = cell
            try:
                series = pd.Categorical(column) if name == "job" else pd.Series(column)
                other = ROWS.assign(**{name: series})
            except (TypeError, ValueError, OverflowError):
                continue  # pandas makes no such column
            kind = str(other[name].dtype)
            alike[kind] += 1
            if alike[kind] % every == 1 % every:
                yield other


@pytest.mark.parametrize("how", FEATURES)
def test_sums_of_rows(how, counts):
    settings = {"classes": [0, 1], **FEATURES[how]}
    before, worst, tried = asked(ROWS, Y_OF_SUMS, POOL, **settings), 0.0, 0
    for other in neighbours(every=5):
        worst = max(worst, float(furthest(before, asked(other, Y_OF_SUMS, POOL, **settings))))
        tried += 1
    counts("neighbours of a sum", tried)
    counts(f"furthest of what is charged, {how}", round(worst, 4))
    assert tried > 50
    assert worst <= 1


def reading_types_of_their_own(monkeypatch, kinds):
    """Let columns of some types through as they are."""
    read = RowSchema.read

    def leaking(schema, X, name="X"):
        private_table = read(schema, X, name)
        if not isinstance(X, pd.DataFrame):
            return private_table
        own = {each: X[each] for each in POOL.select_dtypes(kinds).columns}
        return private_table._replace(table=private_table.table.assign(**own))

    monkeypatch.setattr(RowSchema, "read", leaking)


def losing_whole_calls(monkeypatch):
    """Give all rows of a call that fails the public row's answer."""

    def lost(calls, ask, table, real, places, written):
        indices = np.full(calls.rows_per_call, table.n_rows - 1)
        indices[places] = real
        try:
            answers = ask(table.take(indices), len(real))
            written.values[real], written.failed[real] = answers[places], False
        except ValueError:
            pass  # of another shape

    monkeypatch.setattr(RowCalls, "_answer", lost)


@pytest.mark.parametrize(
    ("kinds", "how"),
    [("category", "told"), ("category", "one hot"), (["int64", "bool"], "told")],
)
def test_types_of_private_columns_are_found_in_sums(monkeypatch, kinds, how):
    reading_types_of_their_own(monkeypatch, kinds)
    if how == "one hot":
        # One more category is one more number a row. Such a call fails, and by halves its one row.
        losing_whole_calls(monkeypatch)
    settings = {"classes": [0, 1], **FEATURES[how]}
    before, worst = asked(ROWS, Y_OF_SUMS, POOL, **settings), 0.0
    for other in neighbours(every=20):
        worst = max(worst, float(furthest(before, asked(other, Y_OF_SUMS, POOL, **settings))))
    assert worst > 1


def test_types_of_private_columns_are_found_in_right_answers(monkeypatch):
    right_answers = right_answers_of_candidates()
    reading_types_of_their_own(monkeypatch, ["int64", "bool"])
    before = right_answers(ROWS)
    moved = [np.abs(right_answers(other) - before).max() for other in neighbours(every=20)]
    assert max(moved) > 1


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.filterwarnings("ignore:.*could not")
@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(SELECTED, LogisticRegression()),
        make_pipeline(FunctionTransformer(told), DecisionTreeClassifier()),
    ],
    ids=["selected", "told"],
)
def test_ballots(learner, counts):
    def votes(rows):
        ensemble = PrivateTeacherEnsemble(
            learner,
            8,
            classes=[0, 1],
            mechanism=GNMax(sigma=2.0),
            accountant=PrivacyAccountant(1e4, 1e-5),
            random_state=0,
        ).fit(rows, Y, X_public=PublicData(POOL[:8]))
        return collect_votes(ensemble._teachers, POOL[:8], ensemble.classes_, None)["*"]

    before, worst, tried = votes(ROWS), 0, 0
    for other in neighbours(every=20):
        worst = max(worst, int(np.abs(votes(other) - before).sum(axis=1).max()))
        tried += 1
    counts("neighbours of a vote", tried)
    assert tried > 20
    counts("votes moved at most", worst)
    assert worst <= 2


class Counted(PrivacyAccountant):
    """Keep the exact counts of releases."""

    counted = ()

    def release(self, mechanism, counts, **options):
        self.counted = [*self.counted, np.asarray(counts)]
        return super().release(mechanism, counts, **options)


@pytest.mark.parametrize("how", FEATURES)
def test_scores_of_a_regression(how, counts):
    budget = Counted(1e4, 1e-5)
    model = PrivateLogisticRegression(
        **FEATURES[how], classes=[0, 1], epsilon=50.0, accountant=budget
    ).fit(ROWS, Y, X_public=PublicData(POOL))
    counts("neighbours of a score", _scores_of(model, budget))


@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
@pytest.mark.filterwarnings("ignore:.*could not")
@pytest.mark.parametrize("learner", [SELECTED, FunctionTransformer(told)], ids=["selected", "told"])
def test_scores_of_a_student(learner, counts):
    budget = Counted(1e4, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        make_pipeline(learner, LogisticRegression()),
        8,
        student=make_pipeline(learner, DecisionTreeClassifier()),
        mechanism=GNMax(sigma=5.0),
        classes=[0, 1],
        epsilon=50.0,
        accountant=budget,
    ).fit(ROWS, Y, X_public=PublicData(POOL))
    counts("neighbours of a score", _scores_of(ensemble, budget))


def _scores_of(model, budget):
    model.score_private(ROWS, Y, sigma=2.0)
    model.confusion_private(ROWS, Y, sigma=2.0)
    score, confusion = budget.counted[-2:]
    tried = 0
    for tried, other in enumerate(neighbours(every=20), start=1):
        if tried % 2:
            model.score_private(other[ROWS.columns[::-1]], Y, sigma=2.0)
            assert np.abs(budget.counted[-1] - score).sum() <= 1
        else:
            model.confusion_private(other, Y, sigma=2.0)
            assert np.abs(budget.counted[-1] - confusion).sum() <= 2
    assert tried > 20
    return tried


def right_answers_of_candidates():
    """Return the function of private rows that counts what two candidates get right."""
    schema = RowSchema.of(POOL)
    public = schema.read(POOL).table
    codes = (POOL["job"] == "cook").astype(int)
    students = [
        PublicStudent(make_pipeline(step, DecisionTreeClassifier()).fit(public, codes), CLASSES, {})
        for step in (SELECTED, FunctionTransformer(told))
    ]
    candidates = [choose_calls(each, "predict", schema) for each in students]
    target, people = as_target(CLASSES), People.from_owners(PrivacyAccountant(1.0, 1e-5), None, N)

    def right_answers(rows):
        read = PrivateRows.of_table(rows, Y, people).read(ShardReader(schema, target).read)
        data = SimpleNamespace(rows=read, target=target, is_in_parts=False)
        return count_right_answers(candidates, data)

    return right_answers


@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
@pytest.mark.filterwarnings("ignore:.*could not")
def test_right_answers_of_candidates(counts):
    right_answers = right_answers_of_candidates()
    before, tried, worst = right_answers(ROWS), 0, 0.0
    for other in neighbours(every=5):
        worst = max(worst, float(np.abs(right_answers(other) - before).max()))
        tried += 1
    counts("neighbours of a choice", tried)
    counts("right answers moved at most", worst)
    assert worst <= 1
