"""Sparse columns of pandas and single columns of texts, in all estimators."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    LabelProportionsClassifier,
    MMDClassRatioEstimator,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble.tables import make_table_pipeline
from secretballot.mechanisms import GNMax
from secretballot.parties import Collaboration, Party
from secretballot.quantification import Bags

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

RNG = np.random.default_rng(0)
N, M = 1_200, 120


def table(n):
    cells = (RNG.random((n, 4)) < 0.5) * RNG.integers(-3, 4, (n, 4))
    return pd.DataFrame(cells.astype(float), columns=list("abcd"))


ROWS, POOL = table(N), table(M)
Y = (ROWS["a"] + ROWS["b"] + 0.3 * RNG.normal(size=N) > 0).astype(int).to_numpy()
#: Types of columns; those after the first two are dense for scikit-learn, which refuses them.
TYPES = {
    "float": pd.SparseDtype("float", 0.0),
    "int": pd.SparseDtype("int", 0),
    "float with empty cells that are missing": "Sparse[float]",
    "bool": pd.SparseDtype("bool", False),
}
BAGS = np.where(Y == 1, np.arange(N) % 5, np.arange(N) % 8)


def budget():
    """Return parameters of a fit that leaves enough for a score."""
    return {
        "accountant": PrivacyAccountant(3.0, 1e-5),
        "epsilon": 2.0,
        "random_state": 0,
    }


def linear(features):
    return PrivateLogisticRegression(features, classes=[0, 1], **budget())


def teachers(learner):
    return PrivateTeacherEnsemble(learner, 20, student=learner, classes=[0, 1], **budget())


SELECTED = make_pipeline(
    make_column_transformer(
        (StandardScaler(with_mean=False), make_column_selector(dtype_include="number")),
        remainder="passthrough",
    ),
    LogisticRegression(),
)
MODELS = {
    "bins": lambda pool: linear("additive"),
    "scaled columns": lambda pool: linear("linear"),
    "a transformer": lambda pool: linear(StandardScaler(with_mean=False)),
    "numbers": lambda pool: PrivateLinearRegression(target_bounds=(-1, 2), **budget()),
    "teachers": lambda pool: teachers(LogisticRegression()),
    "selected columns": lambda pool: teachers(SELECTED),
    "encoded columns": lambda pool: teachers(make_table_pipeline(LogisticRegression(), pool)),
}


#: `make test` runs each type and each model.
QUICK = {*(("float", model) for model in MODELS), *((kind, "bins") for kind in TYPES)}


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow)
        for pair in itertools.product(TYPES, MODELS)
    ],
)
def test_sparse_columns_are_read_as_dense_ones(kind, model):
    rows, pool = (ROWS > 0, POOL > 0) if kind == "bool" else (ROWS, POOL)
    dense = kind if kind in ("int", "bool") else "float"
    types = [(dense, dense), (TYPES[kind], TYPES[kind]), (TYPES[kind], dense)]
    predicted = []
    for private_type, public_type in types:
        private, public = rows.astype(private_type), pool.astype(public_type)
        fitted = MODELS[model](public).fit(private, Y, X_public=PublicData(public))
        predicted += [fitted.predict(pool.astype(form)) for form in types[0] + types[1]]
        assert fitted.score_private(private, Y, share=0.05).n == N
    for other in predicted:
        np.testing.assert_allclose(other, predicted[0], atol=1e-6)


def ratios(rows):
    bags = Bags.from_groups(rows, Y, groups=BAGS)
    shares = [[1 - np.mean(y), np.mean(y)] for y in bags.y]
    return MMDClassRatioEstimator(random_state=0).fit(bags, shares).predict(bags)


def instances(rows):
    shares = pd.DataFrame({0: [1 - Y[BAGS == bag].mean() for bag in range(8)]})
    shares[1] = 1 - shares[0]
    model = LabelProportionsClassifier(random_state=0)
    model.fit(rows, bag_ids=BAGS, proportions=shares)
    return model.predict_proba(rows)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("fit", [ratios, instances])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_instances_of_bags(fit, kind):
    rows = ROWS > 0 if kind == "bool" else ROWS
    assert np.isfinite(fit(rows.astype(TYPES[kind]))).all()


def comments(n):
    good = RNG.integers(2, size=n)
    words = np.where(good, "nice ", "awful "), RNG.choice(["film", "book"], n)
    return pd.Series(np.char.add(*words), name="comment"), good


TEXTS = make_pipeline(TfidfVectorizer(), LogisticRegression())
COMMENTS, GOOD = comments(N)
ASKED, _ = comments(M)
FORMS = {
    "series": lambda column: column,
    "shuffled": lambda column: column.sample(frac=1, random_state=0).sort_index(ascending=False),
    "string": lambda column: column.astype("string"),
    "objects": lambda column: column.astype(object),
    "array": lambda column: column.to_numpy(),
    "list": lambda column: column.tolist(),
}


@pytest.mark.parametrize(
    ("private", "public"),
    [*((form, "series") for form in FORMS), *(("series", form) for form in list(FORMS)[1:])],
)
def test_a_column_of_texts(private, public):
    rows = FORMS[private](COMMENTS)
    y = GOOD[rows.index] if hasattr(rows, "index") and private == "shuffled" else GOOD
    model = teachers(TEXTS).fit(rows, y, X_public=PublicData(FORMS[public](ASKED)))
    assert model.score(COMMENTS, GOOD) == 1.0
    assert model.score_private(rows, y, share=0.05).accuracy > 0.8


def test_a_column_of_texts_among_its_own_public_rows_is_found():
    # Each is another text.
    rows = COMMENTS + " " + COMMENTS.index.astype(str)
    for pool, reason in (
        (rows, "is X itself"),
        (rows[:200], "has rows with the index labels and the values of rows of X"),
        (rows[:200].tolist(), "has 200 rows that are rows of X too"),
    ):
        with pytest.raises(ValueError, match=f"X_public {reason}"):
            teachers(TEXTS).fit(rows, GOOD, X_public=PublicData(pool))


@pytest.mark.parametrize(
    "kind",
    [
        "texts",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in TYPES if kind != "bool"),
        "bool",
    ],
)
def test_parties_ask_and_answer(kind):
    if kind == "texts":
        rows, y, learner, asked = COMMENTS, GOOD, TEXTS, ASKED
    else:
        rows, y, learner, asked = ROWS, Y, LogisticRegression(), POOL
        rows, asked = ((t > 0 if kind == "bool" else t).astype(TYPES[kind]) for t in (rows, asked))
    parties = [
        Party(
            learner,
            name=f"site {i}",
            accountant=PrivacyAccountant(8.0, 1e-5),
            classes=[0, 1],
        ).fit(rows[i::12], y[i::12])
        for i in range(12)
    ]
    together = Collaboration(parties)
    agreement = together.agree(GNMax, n_rows=20)
    answer = together.ask("site 0", asked[:20], agreement)
    assert len(parties[0].learn(asked[:20], answer).predict(asked)) == M


def test_a_linear_model_of_texts_says_how_to_give_them():
    model = linear(make_column_transformer((TfidfVectorizer(), "comment")))
    pool = PublicData(ASKED.to_frame())
    with pytest.raises(ValueError, match=r"one column frame\[\['a'\]\]"):
        model.fit(COMMENTS, GOOD, X_public=pool)
    assert model.fit(COMMENTS.to_frame(), GOOD, X_public=pool).score(ASKED.to_frame(), GOOD[:M])
