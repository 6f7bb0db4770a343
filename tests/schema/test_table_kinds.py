"""Tables of other libraries, of more dimensions, without names: read, or refused with a remedy."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from secretballot import (
    GNMax,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import PrivateChoice
from secretballot.tables._row_schema import RowSchema

RNG = np.random.default_rng(0)
N, NAMES = 400, ["age", "b", "c"]
X, POOL = RNG.normal(size=(N, 3)), RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


def regression(**given):
    return PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(50.0, 1e-5), epsilon=20.0, **given
    )


def flat(rows):
    return np.reshape(rows, (len(rows), -1))


def transformed():
    return regression(features=FunctionTransformer(flat))


def teachers(**given):
    learner = make_pipeline(FunctionTransformer(flat), LogisticRegression())
    return PrivateTeacherEnsemble(
        learner,
        10,
        student=learner,
        mechanism=GNMax(sigma=2.0),
        classes=[0, 1],
        accountant=PrivacyAccountant(50.0, 1e-5),
        epsilon=40.0,
        **given,
    )


ESTIMATORS = [regression, transformed, teachers]


def frame(rows, library="pandas"):
    package = pytest.importorskip(library)
    columns = dict(zip(NAMES, rows.T, strict=True))
    return package.table(columns) if library == "pyarrow" else package.DataFrame(columns)


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("public", ["array", "pandas", "polars"])
@pytest.mark.filterwarnings("ignore:X has names of columns")
def test_private_frames_are_read_with_any_public_table(make, public):
    pytest.importorskip("polars")
    pool = POOL if public == "array" else frame(POOL, public)
    tables = [X, frame(X), frame(X, "polars"), X.tolist()]
    schema = RowSchema.of(pool)
    read = [schema.read(each).table for each in tables]
    assert {type(each) for each in read} == {type(pool)}
    assert all(np.array_equal(each, X) for each in read)
    # Nobody warns: of 10 teachers each one would.
    fitted = make().fit(tables[(public == "array") + 1], Y, X_public=PublicData(pool))
    for rows in tables:
        assert 0 <= fitted.score_private(rows, Y, sigma=20.0).interval[1] <= 1


@pytest.mark.parametrize("make", ESTIMATORS)
def test_tables_of_other_libraries_are_refused_before_spending(make):
    table, said = frame(X, "pyarrow"), r"is a Table of pyarrow.*to_pandas\(\)"
    estimator = make()
    for rows, pool in ((table, POOL), (table, frame(POOL)), (X, frame(POOL, "pyarrow"))):
        with pytest.raises(ValueError, match=said) as error:
            estimator.fit(rows, Y, X_public=PublicData(pool))
        assert str(X[0, 0])[:6] not in str(error.value)
    assert not estimator.accountant.entries()
    fitted = estimator.fit(frame(X), Y, X_public=PublicData(frame(POOL)))
    before = len(estimator.accountant.entries())
    for ask in (lambda: fitted.score_private(table, Y, share=0.05), lambda: fitted.predict(table)):
        with pytest.raises(ValueError, match=said):
            ask()
    assert len(estimator.accountant.entries()) == before


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_a_single_row_is_refused_with_a_remedy(make, library):
    fitted = make().fit(frame(X), Y, X_public=PublicData(frame(POOL)))
    row = X[0] if library == "array" else pytest.importorskip(library).Series(X[0])
    if library == "pandas":
        mixed = row.astype(object)
        mixed.iloc[0] = "n/a"
    for ask in (
        fitted.predict,
        fitted.predict_proba,
        lambda rows: fitted.score_private(rows, Y[:3], share=0.05),
        getattr(fitted, "predict_private", fitted.predict),
    ):
        for given in (row, mixed) if library == "pandas" else (row,):
            with pytest.raises(ValueError, match=r"Reshape your data.*frame\.iloc\[\[0\]\]"):
                ask(given)


def test_rows_of_several_dimensions():
    images, pool = X.reshape(200, 3, 2), POOL[:30].reshape(15, 3, 2)
    fitted = teachers(check_public_rows=False).fit(images, Y[:200], X_public=PublicData(pool))
    assert fitted.predict(images[:4]).shape == (4,)
    fitted.score_private(images, Y[:200], sigma=20.0)
    fitted.score_private(images.tolist(), Y[:200], sigma=20.0)
    for other in (images[:, :2], X, images[..., None]):
        with pytest.raises(ValueError, match="X has . columns, and the fit had 3"):
            fitted.score_private(other, Y[: len(other)], sigma=20.0)
    for pool in (POOL, frame(POOL)):
        with pytest.raises(ValueError, match="X_public must have the columns of X"):
            teachers().fit(images, Y[:200], X_public=PublicData(pool))
        with pytest.raises(ValueError, match=r"Found array with dim 3 for X,.*X\.reshape"):
            regression().fit(images, Y[:200], X_public=PublicData(pool))


def test_the_public_rows_check_reads_images():
    rows = RNG.normal(size=(1500, 2, 2))
    with pytest.raises(ValueError, match=r"X_public does not match X.*The column is 3\."):
        teachers().fit(
            rows + [[0, 0], [0, 99.0]],
            rows[:, 0, 0] > 0,
            X_public=PublicData(RNG.normal(size=(40, 2, 2))),
        )


@pytest.mark.filterwarnings("ignore:the types and categories")
def test_public_rows_without_the_names_that_teachers_know():
    named = teachers().set_params(student=None).fit(frame(X), Y)
    with pytest.raises(ValueError, match=r"X has no column names.*columns=model\.feature_names"):
        named.predict_private(POOL)
    plain = teachers().set_params(student=None).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has the columns \['age'.*X\.to_numpy\(\)"):
        plain.predict_private(frame(POOL))
    parties = PrivateTeacherEnsemble(
        [FrozenEstimator(LogisticRegression().fit(frame(X), Y)) for _ in range(10)],
        classes=[0, 1],
        accountant=PrivacyAccountant(50.0, 1e-5),
    )
    with pytest.raises(ValueError, match="X_public has no column names"):
        parties.fit(None, None, X_public=PublicData(POOL))
    assert not parties.accountant.entries()


def test_missing_public_values_name_the_pool_and_a_remedy():
    pool = np.where(np.arange(3) == 1, np.nan, POOL)
    with pytest.raises(ValueError, match=r"Input X_public.* contains NaN.*SimpleImputer"):
        PrivateTeacherEnsemble(
            LogisticRegression(), 10, classes=[0, 1], accountant=PrivacyAccountant(9.0, 1e-5)
        ).fit(X, Y, X_public=PublicData(pool))
    with (
        pytest.warns(UserWarning, match=r"1 \(no public row has it\).*columns="),
        pytest.raises(ValueError, match="X_public does not match X"),
    ):
        regression().fit(X, Y, X_public=PublicData(pool))


@pytest.mark.parametrize("make_public", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_scores_and_choices_take_sparse_and_dense_rows_in_any_pair(make_public, make):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(460, 5)) * (rng.random((460, 5)) < 0.5)
    pool, rows = make_public(numbers[:60]), make(numbers[60:])
    labels = (numbers[60:, 0] > 0).astype(int)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=10,
        student=PrivateChoice([LogisticRegression(), LogisticRegression(C=0.1)]),
        classes=[0, 1],
        accountant=PrivacyAccountant(80.0, 1e-5),
        epsilon=40.0,
        check_public_rows=False,
    ).fit(rows, labels, X_public=pool)
    score = ensemble.score_private(rows, labels, epsilon=20.0)
    low, high = score.rows_interval
    assert low - 0.02 <= ensemble.score(rows, labels) <= high + 0.02
