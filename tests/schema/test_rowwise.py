"""Calls of one public shape: no row's answer depends on other rows, or the check sees it."""

import pickle
import threading
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_info

from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise_check import choose_calls

AXIS = np.random.default_rng(0).normal(size=50)


def table(n, dtype=np.float32, seed=1):
    """Rows whose rounding depends on the batch in a product of matrices."""
    rng = np.random.default_rng(seed)
    return (3000 + rng.normal(size=(n, 50)) + rng.normal(size=(n, 1)) * AXIS).astype(dtype)


def frame(n, seed=1):
    rows = pd.DataFrame(table(n, seed=seed), columns=[f"x{j}" for j in range(50)])
    rows["c"] = np.random.default_rng(seed).choice(["a", "b"], n)
    return rows


class Model(TransformerMixin, BaseEstimator):
    """Model whose transform is given, and is called with it."""

    def __init__(self, function):
        self.function = function

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        return self.function(self, X)


def calls_of(function, X=None, **options):
    X = table(300) if X is None else X
    return choose_calls(Model(function), "transform", RowSchema.of(X), **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows_per_call", ["auto", 8, 1])
def test_more_rows_leave_the_answers_of_others_alone(dtype, rows_per_call):
    public, X = table(300, dtype), table(700, dtype, seed=2)
    pca = PCA(2).fit(public)
    calls = choose_calls(pca, "transform", RowSchema.of(public), rows_per_call)
    alone = calls(X).values
    more_rows = ((1, 0), (13, 350), (4000, 700)) if rows_per_call != 1 else ((1, 0), (13, 350))
    for n_more, at in more_rows:
        answers = calls(np.insert(X, [at] * n_more, table(1, dtype, seed=3), axis=0)).values
        assert np.array_equal(np.delete(answers, slice(at, at + n_more), axis=0), alone)
    if dtype is np.float32 and rows_per_call == "auto":
        # Planted: one call of all rows, as many as there are.
        batches = [pca.transform(np.insert(X, [0] * n, X[:1], axis=0))[n:] for n in (1, 5, 13)]
        assert not all(np.array_equal(batch, pca.transform(X)) for batch in batches)


def test_rows_that_fail_leave_the_answers_of_others_alone():
    public, X = frame(300), frame(200, seed=2)
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, dtype=np.float32), ["c"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encoder, PCA(2)).fit(public)
    calls = choose_calls(pipeline, "transform", RowSchema.of(public))
    before = calls(X)
    assert not before.failed.any()
    for places in ([0], [199], [3, 4, 150], list(range(0, 200, 2))):
        changed = X.copy()
        changed.loc[places, "c"] = "unseen"
        values, failed = calls(changed)
        assert np.flatnonzero(failed).tolist() == places
        assert np.array_equal(values[~failed], before.values[~failed])
        assert values.dtype == before.values.dtype


def test_every_call_has_the_same_number_of_rows():
    sizes = set()

    def function(model, X):
        sizes.add(len(X))
        if (X[:, 0] == 7).any():
            raise ValueError("seven")
        return X[:, :2]

    calls = calls_of(function, np.ones((20, 3)))
    assert calls.rows_per_call == 256
    for n_rows in (1, 255, 256, 700):
        X = np.zeros((n_rows, 3))
        X[[0, n_rows // 2], 0] = 7
        sizes.clear()
        assert calls(X).failed.sum() == len({0, n_rows // 2})
        assert sizes == {256}
    assert calls(np.zeros((0, 3))).values.shape == (0, 2)


COMPANIONS = {
    "largest of the batch": lambda model, X: X[:, :2] / np.abs(X).max(),
    "a little of the mean": lambda model, X: X[:, :2] + np.float32(1e-3) * X.mean(),
    "place": lambda model, X: X[:, :2] + np.arange(len(X))[:, None],
    "number of different rows": lambda model, X: X[:, :2] * len(np.unique(X[:, 0])),
    "a huge companion": lambda model, X: X[:, :2] + (X > 1e30).any(),
    "type": lambda model, X: X[:, :2].astype("f8" if np.isnan(X).any() else "f4"),
    "raises beside others": lambda model, X: raises_if(X, (X > 1e30).sum() >= 2),
}


def raises_if(X, condition):
    if condition:
        raise ValueError("two of them")
    return X[:, :2]


@pytest.mark.parametrize("name", COMPANIONS)
def test_what_looks_at_companions_or_places_gets_one_row_a_call(name):
    X = table(300)
    X[::10, 3] = np.nan  # so that missing cells stay missing
    calls = calls_of(COMPANIONS[name], X)
    assert calls.rows_per_call == 1
    with pytest.warns(UserWarning, match="1 row a call.*seconds for 48,842 rows"):
        calls.warn_slow(48_842)
    for rows_per_call in (8, 256):
        with pytest.raises(ValueError, match=f"rows_per_call={rows_per_call}"):
            calls_of(COMPANIONS[name], X, rows_per_call=rows_per_call)
    assert calls_of(COMPANIONS[name], X, rows_per_call=1).fault == ""


def opaque(model, X):
    """Classes by a sum that rounds by the place: no score shows it."""
    return (X[:, 0] + 1e-11 * np.arange(len(X)) > 3000).astype(int)[:, None]


def test_rounding_behind_classes_shows_at_border_rows():
    X = table(300, np.float64)
    places = np.arange(256)
    natural = [opaque(None, X[np.roll(places, k)])[np.argsort(np.roll(places, k))] for k in places]
    assert all(np.array_equal(each, natural[0]) for each in natural)
    assert calls_of(opaque, X).rows_per_call == 1
    columns = [f"x{j}" for j in range(50)]
    for make in (pd.DataFrame, lambda rows, columns: pl.DataFrame(rows, schema=columns)):
        rows = make(X, columns=columns)
        by_frame = calls_of(lambda model, X: opaque(model, X.to_numpy()), rows)
        assert by_frame.rows_per_call == 1


def test_border_rows_of_integers_are_integers():
    def by_place(model, X):
        """Classes that depend on the place for a first column of 3000 alone."""
        return (X[:, 0] + np.arange(len(X)) / 250 > 3000.9).astype(int)[:, None]

    X = 100 * np.arange(300).reshape(-1, 1) % 6_000 + np.array([[50, 7]])
    columns = ["x", "y"]
    for make in (np.array, pd.DataFrame, pl.DataFrame):
        names = (
            {} if make is np.array else {"columns" if make is pd.DataFrame else "schema": columns}
        )
        rows = make(X, **names)
        calls = calls_of(lambda model, X: by_place(model, np.asarray(X)), rows)
        assert calls.rows_per_call == 8
    assert calls_of(lambda model, X: (X[:, :1] > 3_000).astype(int), X).rows_per_call == 256


def test_steps_and_scores_within_the_model_are_compared():
    def steps(model, X):
        return X[:, :1] + 1e-13 * np.arange(len(X))[:, None]

    def last(model, X):
        return np.zeros((calls_length(X), 1))

    X = table(300, np.float64)
    pipeline = make_pipeline(Model(steps), Model(last)).fit(X)
    calls = choose_calls(pipeline, "transform", RowSchema.of(X))
    assert calls.rows_per_call == 1
    assert "step 'model-1'" in calls.fault
    assert calls_of(last, X).rows_per_call == 256


def test_a_check_makes_at_most_240_calls():
    n_calls = 0

    def count(model, X):
        nonlocal n_calls
        n_calls += 1
        return X + 1e-13 * np.arange(len(X))[:, None] * (n_calls > 10**6)

    X = table(300, np.float64)
    for n_steps in (1, 3, 8):
        n_calls = 0
        pipeline = make_pipeline(*[Model(count) for _ in range(n_steps)]).fit(X)
        # Fitting a pipeline calls all steps but the last.
        n_calls = 0
        calls = choose_calls(pipeline, "transform", RowSchema.of(X))
        assert calls.rows_per_call == 256
        assert n_calls <= 240 * n_steps
        if n_steps == 1:
            assert n_calls <= 240
    for name in COMPANIONS:
        n_calls = 0

        def counted(model, X, name=name):
            count(model, X[:, :2])
            return COMPANIONS[name](model, X)

        assert calls_of(counted, table(300)).rows_per_call in (1, 256)
        assert n_calls <= 240


def test_forests_and_neighbours_pass():
    X = table(300, np.float64)
    y = (X[:, 0] > 3000).astype(int)
    for model in (RandomForestClassifier(10, n_jobs=2), KNeighborsClassifier()):
        calls = choose_calls(model.fit(X, y), "predict", RowSchema.of(X))
        assert calls.rows_per_call == 256
        assert np.array_equal(calls(X).values, model.predict(X))


# What a model keeps ------------------------------------------------------------------------------


def test_a_model_that_changes_when_it_is_called_has_a_copy_for_each_call():
    def counts(model, X):
        model.n_rows_ = getattr(model, "n_rows_", 0) + len(X)
        return X[:, :1] * 0 + model.n_rows_

    calls = calls_of(counts)
    assert calls.fresh_copies
    assert not hasattr(calls.model, "n_rows_")
    assert len(set(calls(table(1000)).values.ravel())) == 1
    planted = replace(calls, fresh_copies=False)
    assert len(set(planted(table(1000)).values.ravel())) > 1


class Remembers(Model):
    """Keeps the last table that it was given."""

    def transform(self, X):
        self.kept_ = X
        return X[:, :2]


def test_private_rows_stay_in_no_model():
    model = Remembers(None)
    calls = choose_calls(model, "transform", RowSchema.of(table(300)))
    before = pickle.dumps(calls)
    calls(np.full((10, 50), 47.11, dtype=np.float32))
    assert pickle.dumps(calls) == before
    assert not hasattr(model, "kept_")


class NoCopy(Model):
    def __init__(self, function=None):
        self.function = function
        self.lock_ = threading.Lock()


class ItsOwnCopy(Model):
    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("kind", [NoCopy, ItsOwnCopy])
def test_what_cannot_be_copied_is_refused(kind):
    with pytest.raises(ValueError, match=r"can't be copied .* copy\.deepcopy"):
        choose_calls(kind(None), "transform", RowSchema.of(table(300)))


# Kinds of tables ---------------------------------------------------------------------------------


def test_every_kind_of_table_has_the_same_layout_in_every_call():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 4))
    words = ["red apple", "green pear", "red plum", "blue sky"]
    texts = [words[k] for k in rng.integers(4, size=300)]
    mixed = pd.DataFrame(numbers, columns=list("abcd")).assign(
        n=rng.integers(9, size=300), t=texts, k=pd.Categorical(texts)
    )
    layouts = []

    def look(model, X):
        if isinstance(X, pd.DataFrame):
            assert list(X.index) == list(range(len(X)))
            blocks = [(X[column].dtype, X[column].to_numpy().strides) for column in X.columns]
            layouts.append((len(X), str(blocks)))
        elif isinstance(X, np.ndarray):
            assert X.flags.c_contiguous
            layouts.append((X.shape, X.dtype))
        elif sparse.issparse(X):
            assert X.has_canonical_format
            layouts.append((X.shape, X.dtype, X.indices.dtype))
        else:
            layouts.append((len(X), type(X)))
        return np.zeros((calls_length(X), 1))

    for public in (
        numbers,
        np.asfortranarray(numbers),
        numbers.astype(np.float32),
        np.array(mixed, dtype=object),
        mixed,
        mixed[["a", "n"]],
        pl.from_pandas(mixed.drop(columns="k")),
        sparse.csr_array(np.where(numbers > 0, numbers, 0)),
        texts,
        np.array(texts, dtype=object),
    ):
        schema = RowSchema.of(public)
        calls = choose_calls(Model(look), "transform", schema)
        layouts.clear()
        for rows in (slice(0, 1), slice(0, 255), slice(0, 300)):
            given = schema.read(public[rows]).table
            assert calls(given).values.shape == (calls_length(given), 1)
        assert len(set(layouts)) == 1, layouts


def calls_length(rows):
    return rows.shape[0] if hasattr(rows, "shape") else len(rows)


def test_text_goes_through_a_pipeline():
    texts = ["red apple", "green pear", "red plum", "blue sky"] * 20
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [0, 1, 0, 1] * 20)
    calls = choose_calls(model, "predict", RowSchema.of(texts))
    assert np.array_equal(
        calls(["red pear", "blue plum", *texts]).values,
        model.predict(["red pear", "blue plum", *texts]),
    )


def test_a_scaled_table_of_adult_kind_takes_256_rows():
    public = frame(300)
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression()).fit(public, public["x0"] > 3000)
    calls = choose_calls(model, "predict", RowSchema.of(public))
    assert calls.rows_per_call in (8, 256)
    assert calls(public).values.dtype == bool


def test_mutable_cells_are_copied():
    def clear(model, X):
        answers = np.array([[len(cell["words"])] for cell in X])
        for cell in X:
            cell["words"].clear()
        return answers

    X = [{"words": ["a"] * (k % 3)} for k in range(40)]
    calls = calls_of(clear, X)
    assert calls(X).values.ravel().tolist() == [k % 3 for k in range(40)]


def test_functions_are_asked_on_one_thread_and_without_warnings():
    def warns(model, X):
        warnings.warn("47.11", UserWarning, stacklevel=1)
        return X[:, :1]

    assert not calls_of(warns)(table(10)).failed.any()
    transformer = FunctionTransformer(lambda X: X[:, :1]).fit(table(300))
    calls = choose_calls(transformer, "transform", RowSchema.of(table(300)))
    assert calls.fresh_copies  # a lambda has no pickle, so that nothing tells whether it changed
    assert not calls(table(10)).failed.any()


def test_threads_that_end_leave_the_calls_of_others_undisturbed():
    """Rows in parts may be read by several threads of a program, such as a worker's."""
    started, entered, done = (threading.Event() for _ in range(3))
    failures, n_threads = [], []
    before = [each["num_threads"] for each in threadpool_info()]

    def first(model, X):
        started.set()
        entered.wait(60)
        return X[:, :1]

    def second(model, X):
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            done.wait(60)
            warnings.warn("47.11", UserWarning, stacklevel=1)
            n_threads.extend(each["num_threads"] for each in threadpool_info())
        return X[:, :1]

    entered.set()
    early, late = calls_of(first), calls_of(second)
    started.clear(), entered.clear()
    rows = table(10)
    threads = [
        threading.Thread(target=lambda: (early(rows), done.set())),
        threading.Thread(target=lambda: failures.append(late(rows).failed.any())),
    ]
    for thread in threads:
        thread.start()
        started.wait(60)
    for thread in threads:
        thread.join()
    assert failures == [False]
    assert set(n_threads) <= {1}
    assert [each["num_threads"] for each in threadpool_info()] == before
    with pytest.raises(UserWarning, match="are errors still"):
        warnings.warn("are errors still", UserWarning, stacklevel=1)
