"""Categories that a data frame's type lists: knowledge of all rows, which no teacher may have."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.ensemble._public_rows import types_learned
from secretballot.mechanisms import GNMax

pandas = pytest.importorskip("pandas")

JOBS = np.array(["clerk", "cook"])
Y = np.arange(80) // 4 % 2


def codes(frame):
    """What learners do that take their categories from the data type."""
    return np.column_stack([frame["job"].astype("category").cat.codes, frame["age"]])


def ensemble_of(random_state=None):
    return PrivateTeacherEnsemble(
        make_pipeline(FunctionTransformer(codes), DecisionTreeClassifier(random_state=0)),
        8,
        classes=[0, 1],
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(500.0, 1e-5),
        random_state=random_state,
        check_public_rows=False,
    )


def table(rare=None):
    jobs = JOBS[Y].astype(object)
    if rare is not None:
        jobs[rare] = "baker"  # comes before the others, so that all codes move
    return pandas.DataFrame({"job": pandas.Categorical(jobs), "age": 30.0})


POOL = pandas.DataFrame({"job": pandas.Categorical(JOBS), "age": 30.0})


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
def test_a_new_category_moves_one_ballot():
    votes = []
    for rare in (None, 7):
        ensemble = ensemble_of(0).fit(table(rare), Y, X_public=PublicData(POOL))
        votes.append(collect_votes(ensemble._teachers, POOL, ensemble.classes_, None)["*"])
    assert votes[0].tolist() == [[8, 0], [0, 8]]
    assert np.abs(votes[1] - votes[0]).sum(axis=1).max() <= 2
    assert "types and categories" not in str(ensemble.statement())


SAID = r"the types and categories of columns \('job', 'age'\) are those of the private table"


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
def test_types_of_the_private_table_warn_once():
    # Without a pool nothing is released by the fit; then it is the first release that tells.
    ensemble = ensemble_of().fit(table(), Y)
    with pytest.warns(PrivacyLeakWarning, match=SAID) as warned:
        ensemble.predict_private(POOL)
    assert len(warned) == 1
    ensemble.predict_private(POOL)
    text = " ".join(str(ensemble.statement()).split())
    assert "the types and categories of some columns were read off the private table" in text


def test_private_rows_take_the_types_of_the_pool():
    ensemble = ensemble_of().fit(table(), Y, X_public=POOL.astype({"job": object}))
    assert "types_learned" not in ensemble.accountant.entries()[0].note
    (dtype,) = {str(shown) for shown in ensemble._row_schema.sample.dtypes[["job"]]}
    assert dtype == "object"


def test_categories_without_a_public_row():
    kind = pandas.CategoricalDtype(["HIV", "clerk", "cook", "flu"])
    pool = POOL.astype({"job": kind})
    with pytest.warns(UserWarning, match=r"'job' lists 2 categories that no public.*categories="):
        ensemble = ensemble_of().fit(table(), Y, X_public=pool)
    assert ensemble._row_schema.sample["job"].cat.categories.tolist() == ["clerk", "cook"]
    declared = ensemble_of().set_params(categories={"job": ["HIV", "flu"]})
    declared.fit(table(), Y, X_public=pool)
    assert declared._row_schema.sample["job"].dtype == kind


class OtherFrame:
    """A data frame of a library that we don't know."""

    columns = ("age", "job")


def test_types_that_only_private_tables_have():
    assert types_learned(OtherFrame()) == types_learned(table()[["age", "job"]]) == ["age", "job"]
    assert types_learned(np.zeros((3, 2))) == types_learned([["a"]]) == []
