"""Tables as they come, in the pipelines of teachers and students."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from secretballot import GNMax, PrivacyAccountant, PrivateTeacherEnsemble, PublicData
from secretballot.ensemble import TableEncoder, make_table_pipeline


def people(n, seed=0):
    """Return a table of texts, numbers, dates, missing cells and identifiers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 12, n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 0.5, n)),
            "job": rng.choice(["clerk", "nurse", "pilot"], n).astype(object),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "member": rng.random(n) < 0.5,
            "empty": np.nan,
            "id": [f"{seed}-{row}" for row in range(n)],
        }
    )
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame, (frame["age"] > 45).astype(int).to_numpy()


X, Y = people(800)
POOL, _ = people(60, 1)
NEW, TRUTH = people(300, 2)


def ensemble_of(estimator, **settings):
    return PrivateTeacherEnsemble(
        estimator,
        10,
        student=estimator,
        mechanism=GNMax(sigma=2.0),
        classes=[0, 1],
        check_public_rows=False,
        accountant=PrivacyAccountant(100.0, 1e-5),
        **settings,
    )


def encoder_of(frame, **settings):
    with pytest.warns(UserWarning, match="'empty', 'id': nothing can be learned"):
        return make_table_pipeline(LogisticRegression(), frame, **settings)


def as_polars(frame):
    return pl.from_pandas(frame)


@pytest.mark.parametrize("convert", [lambda frame: frame, as_polars])
@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_teachers_read_a_table_as_it_is(learner, convert):
    with pytest.warns(UserWarning, match="'empty', 'id': nothing can be learned"):
        model = make_table_pipeline(learner, PublicData(convert(POOL)))
    ensemble = ensemble_of(model).fit(convert(X), Y, X_public=PublicData(convert(POOL)))
    assert ensemble.score(convert(NEW), TRUTH) > 0.85
    student = pickle.loads(pickle.dumps(ensemble.to_student()))
    assert (student.predict(convert(NEW)) == ensemble.predict(convert(NEW))).all()


def test_features():
    encoder = encoder_of(POOL)[0]
    assert encoder.left_out_ == ["empty", "id"]
    names = encoder.get_feature_names_out().tolist()
    assert names == [
        *("age", "pay", "pay is missing", "job=clerk", "job=nurse", "job=pilot", "job is missing"),
        *("since", "member"),
    ]
    features = pd.DataFrame(encoder.transform(POOL), columns=names)
    np.testing.assert_allclose(features[["age", "since", "member"]].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(features[["age", "since", "member"]].std(ddof=0), 1)
    assert (features["pay is missing"] == POOL["pay"].isna()).all()
    assert (features["pay"][POOL["pay"].isna()] == 0).all()
    assert (features["job=nurse"] == (POOL["job"] == "nurse")).all()
    assert (features["job is missing"] == POOL["job"].isna()).all()


def test_a_row_is_encoded_by_itself():
    encoder = encoder_of(POOL)[0]
    together = encoder.transform(NEW)
    strange = pd.concat([NEW.iloc[:50], NEW.iloc[:1].assign(age=1e9, job="spy", pay=np.inf)])
    np.testing.assert_array_equal(encoder.transform(strange)[:50], together[:50])
    # A text that public rows don't show has no indicator.
    last = encoder.transform(strange)[-1]
    assert last[3:7].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_teachers_share_what_public_rows_say():
    """No private row has a say: clones of clones keep the encoder as it was."""
    model = encoder_of(POOL)
    assert clone(clone(model))[0].estimator is model[0].estimator
    before = model[0].transform(NEW)
    tree = clone(model).set_params(logisticregression=DecisionTreeClassifier())
    tree.fit(X.assign(age=X["age"] * 1000, job="spy"), Y)
    np.testing.assert_array_equal(model[0].transform(NEW), before)


def test_declared_categories():
    model = encoder_of(POOL, categories={"job": ["clerk", "nurse", "pilot", "spy"]})
    assert "job=spy" in model[0].get_feature_names_out()
    names = POOL["id"].tolist()
    with pytest.warns(UserWarning, match="'empty': nothing"):
        model = make_table_pipeline(LogisticRegression(), POOL, categories={"id": names})
    assert f"id={names[0]}" in model[0].get_feature_names_out()
    with pytest.raises(ValueError, match="categories names the column 'jobs', which X does not"):
        make_table_pipeline(LogisticRegression(), POOL, categories={"jobs": ["clerk"]})


def test_tables_that_can_not_be_encoded():
    with pytest.raises(ValueError, match="nothing can be learned from the columns"):
        make_table_pipeline(LogisticRegression(), POOL[["empty", "id"]])
    with pytest.raises(ValueError, match="0 rows|0 sample"):
        make_table_pipeline(LogisticRegression(), POOL[:0])
    encoder = encoder_of(POOL)[0]
    with pytest.raises(ValueError, match=r"X lacks the columns \['age'\].*X_public.drop"):
        encoder.transform(NEW.drop(columns="age"))
    with pytest.raises(ValueError, match="not fitted"):
        TableEncoder().transform(NEW)


def test_arrays_and_lists():
    numbers = np.arange(20.0).reshape(10, 2)
    assert TableEncoder().fit_transform(numbers).shape == (10, 2)
    rows = [[1.0, "a"], [2.0, "b"], [3.0, "a"], [None, "b"]]
    assert TableEncoder().fit_transform(rows).shape == (4, 4)


# Warnings of teachers


def noisy_pipeline():
    """Return a pipeline whose imputer and encoder warn of small shards."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "rare"]),
            (OneHotEncoder(handle_unknown="warn", sparse_output=False), ["town"]),
        ),
        LogisticRegression(),
    )


RNG = np.random.default_rng(3)
TOWNS = RNG.choice(list("abcdefghijklmnopq"), len(X) + len(POOL))
RARE = np.where(RNG.random(len(TOWNS)) < 0.985, np.nan, 1.0)
RARE[-1] = 1.0
WIDE = pd.concat([X, POOL]).reset_index(drop=True)[["age"]].assign(town=TOWNS, rare=RARE)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.filterwarnings("always:Skipping features", "always:Found unknown")
def test_teachers_warn_once_of_each_kind(n_jobs):
    ensemble = ensemble_of(noisy_pipeline(), n_jobs=n_jobs)
    with pytest.warns(UserWarning, match="teachers warned") as caught:
        ensemble.fit(WIDE[:800], Y, X_public=PublicData(WIDE[800:].reset_index(drop=True)))
    texts = [str(each.message) for each in caught if "teachers warned" in str(each.message)]
    assert len(texts) == 1
    assert "of 10 teachers warned. NOT FOR PUBLICATION" in texts[0]
    assert "said: Skipping features without" in texts[0] or "said: Found unknown" in texts[0]
    assert sum("Skipping features" in str(each.message) for each in caught) <= 1
    with pytest.warns(UserWarning, match="teachers warned") as caught:
        ensemble.predict_private(WIDE[800:830])
    assert sum("teachers warned" in str(each.message) for each in caught) == 1


def test_what_is_ignored_stays_ignored_and_errors_stay_errors():
    public = PublicData(WIDE[800:].reset_index(drop=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ensemble_of(noisy_pipeline()).fit(WIDE[:800], Y, X_public=public)
    # A warning that is an error fails its teacher, for which the public rule votes.
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("error", "Skipping features")
        warnings.filterwarnings("ignore", "Found unknown")
        warnings.filterwarnings("always", ".*could not be trained")
        ensemble_of(noisy_pipeline()).fit(WIDE[:800], Y, X_public=public)
    assert "for them a public rule votes" in str(caught[-1].message)
