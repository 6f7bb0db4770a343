import hashlib
from importlib.resources import files

import numpy as np
import pytest

from secretballot.datasets import load_adult

DATA = files("secretballot.datasets") / "data"


@pytest.fixture(scope="module")
def adult():
    return load_adult()


def test_the_file_is_the_one_we_know():
    digest = hashlib.sha256((DATA / "adult.csv.gz").read_bytes()).hexdigest()
    assert digest == "fbfd5774d1c107366c5fcb3f0317586726c37cc93abf13dff629000f0bc2d666"


def test_the_attribution_is_beside_it():
    text = (DATA / "ATTRIBUTION.md").read_text()
    for needed in ("Becker", "Kohavi", "CC BY 4.0", "10.24432/C5XW20"):
        assert needed in text


def test_all_rows(adult):
    assert adult.data.shape == (48_842, 14)
    assert adult.data.dtype == np.float64
    assert np.isfinite(adult.data).all()
    assert np.bincount(adult.target).tolist() == [37_155, 11_687]
    assert adult.target_names == ("<=50K", ">50K")
    assert len(adult.feature_names) == 14
    assert "10.24432/C5XW20" in adult.DESCR


def test_the_first_row_means_what_the_source_says(adult):
    row = dict(zip(adult.feature_names, adult.data[0], strict=True))
    assert row["age"] == 39
    assert row["capital_gain"] == 2174
    assert adult.categories["workclass"][int(row["workclass"])] == "State-gov"
    assert adult.categories["native_country"][int(row["native_country"])] == "United-States"
    assert adult.target_names[adult.target[0]] == "<=50K"


def test_schooling_is_coded_in_order(adult):
    education = adult.data[:, adult.feature_names.index("education")]
    years = adult.data[:, adult.feature_names.index("education_num")]
    np.testing.assert_array_equal(education + 1, years)


def test_every_category_occurs(adult):
    for position in adult.categorical_features:
        categories = adult.categories[adult.feature_names[position]]
        assert np.array_equal(np.unique(adult.data[:, position]), np.arange(len(categories)))


def test_subsets_are_the_source_files(adult):
    train, test = load_adult(subset="train"), load_adult(subset="test")
    assert len(train.target) == 32_561
    assert len(test.target) == 16_281
    np.testing.assert_array_equal(np.vstack([train.data, test.data]), adult.data)


def test_complete_rows(adult):
    complete = load_adult(complete_only=True)
    assert len(complete.target) == 45_222
    for name, categories in adult.categories.items():
        if "?" in categories:
            column = complete.data[:, complete.feature_names.index(name)]
            assert not (column == categories.index("?")).any()


def test_one_hot(adult):
    expanded = load_adult(one_hot=True)
    n_categories = sum(map(len, adult.categories.values()))
    assert expanded.data.shape == (48_842, 6 + n_categories)
    assert len(expanded.feature_names) == expanded.data.shape[1]
    assert expanded.categorical_features == ()
    sex = [expanded.feature_names.index(f"sex={name}") for name in ("Female", "Male")]
    np.testing.assert_array_equal(expanded.data[:, sex].sum(axis=1), 1)
    np.testing.assert_array_equal(
        expanded.data[:, sex[1]], adult.data[:, adult.feature_names.index("sex")]
    )


def test_return_X_y(adult):
    X, y = load_adult(return_X_y=True)
    np.testing.assert_array_equal(X, adult.data)
    np.testing.assert_array_equal(y, adult.target)


def test_as_frame(adult):
    pandas = pytest.importorskip("pandas")
    named = load_adult(as_frame=True, complete_only=True)
    assert list(named.data.columns) == adult.feature_names
    assert isinstance(named.data["race"].dtype, pandas.CategoricalDtype)
    assert named.data["sex"][0] == "Male"
    assert named.target.name == "income"
    assert named.frame.shape == (45_222, 15)


def test_bad_input():
    with pytest.raises(ValueError, match="subset='valid' is unknown; use one of all, train, test"):
        load_adult(subset="valid")
    with pytest.raises(ValueError, match="as_frame=True .* one_hot=True"):
        load_adult(as_frame=True, one_hot=True)


def test_what_is_returned_may_be_changed():
    changed = load_adult()
    changed.data[:], changed.target[:] = 0, 0
    again = load_adult()
    assert again.data.any()
    assert again.target.any()
