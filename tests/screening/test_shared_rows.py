"""Private rows among public rows: refused before anything is spent."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.tables._public_data import check_no_shared_rows

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 3)), RNG.integers(0, 2, 400)
POOL = RNG.normal(size=(60, 3))


def frame(rows, **options):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, columns=["a", "b", "c"], **options)


def linear(accountant):
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant)


def teachers(accountant):
    return PrivateTeacherEnsemble(
        LogisticRegression(), 20, classes=[0, 1], accountant=accountant, random_state=None
    )


@pytest.mark.parametrize("make", [linear, teachers])
@pytest.mark.parametrize(
    ("private", "public", "message"),
    [
        (X, X, "is X itself"),
        (X, PublicData(X), "is X itself"),
        (X, PublicData(X[350:]), "shares memory with X"),
        (X[:300], X[290:], "shares memory with X"),
        (X, X[::7].copy(), "has 58 rows that are rows of X too"),
        (X.tolist(), X[:40].tolist(), "has 40 rows that are rows of X too"),
        (X, X[:40].astype(np.float32), "has 40 rows"),
        (X, np.r_[POOL, X[:20]], "has 20 rows"),
    ],
)
def test_private_rows_are_refused(make, private, public, message):
    accountant = PrivacyAccountant(100.0, 1e-5)
    with pytest.raises(ValueError, match=rf"X_public {message}.*may_be_private=True") as error:
        make(accountant).fit(private, Y[: len(private)], X_public=public)
    assert "NOT FOR PUBLICATION" in str(error.value)
    assert not accountant.entries()


@pytest.mark.parametrize("make", [linear, teachers])
def test_shared_rows_of_a_frame(make):
    accountant, whole = PrivacyAccountant(100.0, 1e-5), frame(X)
    for private, public, message in (
        (whole, whole, "is X itself"),
        (whole, whole.iloc[:9], "shares memory"),
        (whole, whole.sample(9, random_state=0), "index labels"),
        (whole, whole.sample(50, random_state=0).reset_index(drop=True), "has 50 rows"),
    ):
        with pytest.raises(ValueError, match=f"X_public.*{message}"):
            make(accountant).fit(private, Y, X_public=PublicData(public))
    assert not accountant.entries()


@pytest.mark.parametrize("make", [linear, teachers])
@pytest.mark.parametrize("n_rows", [9, 50])
def test_columns_are_matched_by_name(make, n_rows):
    accountant, whole = PrivacyAccountant(100.0, 1e-5), frame(X)
    leaked = whole.sample(n_rows, random_state=0)[["c", "a", "b"]]
    with pytest.raises(ValueError, match=r"X_public has .*rows .*may_be_private=True"):
        make(accountant).fit(whole, Y, X_public=PublicData(leaked))
    assert not accountant.entries()
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({name: leaked[name].to_numpy() for name in leaked})
    if n_rows > 30:
        with pytest.raises(ValueError, match=r"X_public has 50 rows that are rows of X too"):
            make(accountant).fit(whole, Y, X_public=PublicData(other))


def test_chosen_columns_are_compared():
    accountant, whole = PrivacyAccountant(100.0, 1e-5), frame(X)
    leaked = whole.sample(50, random_state=0).reset_index(drop=True)
    for pool in (leaked, leaked[["b", "a"]], leaked[["c", "b", "a"]]):
        with pytest.raises(ValueError, match=r"X_public has 50 rows that are rows of X too"):
            linear(accountant).set_params(columns=["a", "b"]).fit(whole, Y, X_public=pool)
    assert not accountant.entries()


@pytest.mark.parametrize("make", [linear, teachers])
def test_may_be_private_is_recorded(make):
    accountant = PrivacyAccountant(100.0, 1e-5)
    make(accountant).fit(X, Y, X_public=PublicData(X[:60], may_be_private=True))
    statement = " ".join(str(accountant.statement()).split())
    assert "ROWS THAT MAY BE PRIVATE WERE USED AS PUBLIC ROWS" in statement
    other = PrivacyAccountant(100.0, 1e-5)
    make(other).fit(X, Y, X_public=POOL)
    assert "MAY BE PRIVATE" not in str(other.statement())


def test_may_be_private_survives_wrapping():
    assert PublicData(PublicData(X, may_be_private=True)).may_be_private
    assert not PublicData(X).may_be_private
    with pytest.raises(ValueError, match="may_be_private='yes' is neither True nor False"):
        PublicData(X, may_be_private="yes")


@pytest.mark.parametrize(
    ("public", "private"),
    [
        (X[300:], X[:300]),  # parts of one array
        (X[::2], X[1::2]),
        (X[:9].copy(), X),  # nine rows
        (np.tile(X[:40], (2, 1)), X),  # twins
        (RNG.integers(0, 2, (60, 3)), RNG.integers(0, 2, (400, 3))),  # a coarse table
        (csr_array(np.eye(60, 3)), csr_array(np.eye(400, 3))),
        (["one", "two"] * 30, ["one", "two"] * 200),
        (POOL[:, :2], X),
        (np.c_[np.full(40, -2), np.arange(40)], np.c_[np.full(40, -1), np.arange(40)]),
    ],
)
def test_honest_pools_pass(public, private):
    check_no_shared_rows(public, private)


@pytest.mark.parametrize("n_values", [10, 30, 100])
def test_rows_that_are_equal_by_chance_pass(n_values):
    """Few columns: many rows occur once in both tables, as often as twice in one."""
    rng = np.random.default_rng(n_values)
    rows = rng.exponential(n_values / 3, (4_400, 3)).astype(int)
    public, private = frame(rows[:400]), frame(rows[400:])
    check_no_shared_rows(public, private)
    if n_values == 100:
        with pytest.raises(ValueError, match="rows that are rows of X too"):
            check_no_shared_rows(private.sample(400, random_state=0).set_axis(range(400)), private)


def test_like_rows_under_like_labels_pass():
    rows = np.zeros((400, 3))
    rows[:5, 0] = range(1, 6)
    check_no_shared_rows(frame(rows[[0, *range(5, 60)]]), frame(rows))
    with pytest.raises(ValueError, match="index labels"):
        check_no_shared_rows(frame(rows[:60]), frame(rows))


def test_frames_with_default_indexes_pass():
    whole = frame(X)
    check_no_shared_rows(whole.iloc[300:], whole.iloc[:300])
    public = frame(POOL)
    check_no_shared_rows(public, whole)
    coarse, few = frame(RNG.integers(0, 2, (400, 3))), frame(RNG.integers(0, 2, (60, 3)))
    check_no_shared_rows(few, coarse)
    constant = frame(np.ones((400, 3)))
    check_no_shared_rows(frame(np.ones((60, 3))), constant)


def test_equal_cells_of_different_types_have_equal_hashes():
    pandas = pytest.importorskip("pandas")
    values = np.arange(40)
    texts = [f"name {value}" for value in values]
    private = pandas.DataFrame({"n": values, "t": texts, "c": texts, "m": None})
    public = pandas.DataFrame(
        {
            "n": pandas.array(values.astype(float), dtype="Float64"),
            "t": pandas.array(texts, dtype="string"),
            "c": pandas.Categorical(texts),
            "m": None,
        },
        index=np.arange(40) + 1000,
    )
    with pytest.raises(ValueError, match="40 rows that are rows of X too"):
        check_no_shared_rows(public, private)
    sparse = csr_array(X)
    with pytest.raises(ValueError, match="400 rows that are"):
        check_no_shared_rows(csr_array(X.copy()), sparse)
    with pytest.raises(ValueError, match="shares memory"):
        check_no_shared_rows(sparse, csr_array(sparse, copy=False))
