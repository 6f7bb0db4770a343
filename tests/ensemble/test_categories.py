"""Categories that a data frame's type lists: knowledge of all rows, which no teacher may have."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.ensemble._rows import public_categories
from secretballot.ensemble._votes import collect_votes
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
    assert "categories" not in str(ensemble.statement())


SAID = r"the categories of 'job' are those of the private table.*X_public a data type"


def test_categories_of_the_private_table_are_told_once():
    ensemble = ensemble_of()
    with pytest.warns(PrivacyLeakWarning, match=SAID) as warned:
        ensemble.fit(table(), Y, X_public=POOL.astype({"job": object}))
    assert len(warned) == 1
    text = " ".join(str(ensemble.statement()).split())
    assert "In the one release the categories of some columns were read off the private" in text
    # Without a pool nothing is released by the fit; then it is the first release that tells.
    ensemble.fit(table(), Y)
    with pytest.warns(PrivacyLeakWarning, match=SAID):
        ensemble.predict_private(POOL)
    ensemble.predict_private(POOL)


def test_texts_have_no_categories():
    texts = {"job": object}
    ensemble = ensemble_of().fit(table().astype(texts), Y, X_public=POOL.astype(texts))
    assert "categories_learned" not in ensemble.accountant.entries()[0].note


def test_a_value_that_the_public_column_lacks_is_missing_in_its_row_alone():
    ordered = pandas.CategoricalDtype(["cook", "clerk"], ordered=True)
    given = table(rare=7)
    X, learned = public_categories(given, POOL.astype({"job": ordered}))
    assert learned == []
    assert X["job"].dtype == ordered
    assert np.flatnonzero(X["job"].isna()).tolist() == [7]
    assert given["job"].isna().sum() == 0
    assert X.drop(columns="job").equals(given.drop(columns="job"))


def test_columns_of_polars():
    polars = pytest.importorskip("polars")
    jobs = ["clerk", "baker", "cook"]
    declared = polars.Series("job", JOBS.tolist(), dtype=polars.Enum(JOBS.tolist())).to_frame()
    learnt = polars.Series("job", jobs, dtype=polars.Categorical).to_frame()
    X, learned = public_categories(learnt, declared)
    assert (X["job"].dtype, X["job"].to_list(), learned) == (
        declared["job"].dtype,
        ["clerk", None, "cook"],
        [],
    )
    assert public_categories(learnt, learnt).learned == ["job"]
    assert public_categories(learnt, None).learned == ["job"]


class Column:
    def __init__(self, kind):
        self.dtype = (kind, 8, "", "=")


class OtherFrame:
    """A data frame of a library that we don't know, as the interchange protocol shows it."""

    columns = {"age": Column(0), "job": Column(23)}
    get_column_by_name = columns.__getitem__

    def __dataframe__(self):
        return self

    def column_names(self):
        return list(self.columns)


def test_columns_of_other_frames():
    assert public_categories(OtherFrame(), OtherFrame()).learned == ["job"]
    assert public_categories(np.zeros((3, 2)), None).learned == []
