"""Tables of proportions: alignment by name, shares, and covariance of noise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from secretballot import publish_proportions
from secretballot.quantification import Bags, MMDClassRatioEstimator, SoftmaxClassRatioEstimator
from secretballot.quantification._label_proportions import check_proportions, proportions_by_id

NAMES = ("south", "north", "west")
SHARES = np.array([0.2, 0.8, 0.5])
TABLE = np.c_[1 - SHARES, SHARES]
X = np.arange(24.0).reshape(12, 2)
PLACE = np.array(["west", "north", "south"] * 4)


def published(names=NAMES, size=200, seed=0):
    labels = [np.arange(size) < share * size for share in SHARES]
    y = np.concatenate(labels).astype(int)
    bags = Bags.from_groups(None, y, np.repeat(names, size))  # sorted by name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seeded release
        return publish_proportions(bags, [0, 1], 0.5, 1e-6, random_state=seed)


FORMS = {
    "mapping": dict(zip(NAMES, TABLE.tolist(), strict=True)),
    "mapping of shares": dict(zip(NAMES, SHARES, strict=True)),
    "data frame": pd.DataFrame(TABLE, index=list(NAMES)),
    "series": pd.Series(SHARES, index=list(NAMES)),
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_aligned_by_name(form):
    order = ["north", "west", "south"]
    bag, checked = proportions_by_id(FORMS[form], order, 3)
    values = checked.values[bag]
    np.testing.assert_allclose(values[:, 1], [0.8, 0.5, 0.2])
    assert checked.classes.tolist() == [0, 1]
    noise = np.array([1.0, 2.0, 3.0])[:, None, None] * np.array([[1, -1], [-1, 1]])
    turned = check_proportions(FORMS[form], 3, noise, names=order)
    np.testing.assert_allclose(turned.values, values)
    assert turned.covariance[:, 0, 0].tolist() == [2, 3, 1]


def test_published_proportions_keep_their_noise():
    release = published()
    assert release.names == ("north", "south", "west")
    bag, checked = proportions_by_id(release, ["west", "north"], 2)
    np.testing.assert_array_equal(checked.values[bag], release.proportions[[2, 0]])
    np.testing.assert_array_equal(checked.covariance[bag], release.covariance()[[2, 0]])
    without_south = Bags.from_groups(X[PLACE != "south"], None, PLACE[PLACE != "south"])
    bags, aligned = without_south.align(release, unused="drop")
    assert aligned.names == ("north", "west")
    np.testing.assert_array_equal(aligned.covariance(), release.covariance()[[0, 2]])
    np.testing.assert_array_equal(bags.X[1], X[PLACE == "west"])
    assert (aligned.sizes == 200).all()
    assert len(aligned.expected_distortion) == 2


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_bags_come_in_the_order_of_the_table(kind):
    for form in FORMS.values():
        bags, shares = Bags.from_groups(kind(X), None, PLACE).align(form)
        assert bags.names == NAMES
        assert {type(bag) for bag in bags.X} == {type(kind(X))}
        for bag, name in zip(bags.X, NAMES, strict=True):
            dense = bag.toarray() if sparse.issparse(bag) else np.asarray(bag)
            np.testing.assert_array_equal(dense, X[PLACE == name])
        np.testing.assert_allclose(check_proportions(shares, 3).values, TABLE)


@pytest.mark.parametrize(
    "estimator",
    [
        MMDClassRatioEstimator(kernel="linear", random_state=0),
        SoftmaxClassRatioEstimator(features=None, alpha=0.1, random_state=0),
    ],
    ids=["means", "softmax"],
)
def test_aligned_bags_fit_estimators(estimator):
    """A frame with a column of ids, and a table in another order."""
    rng = np.random.default_rng(0)
    place = np.repeat(NAMES, 200)
    y = rng.random(600) < np.repeat(SHARES, 200)
    frame = pd.DataFrame(rng.normal(size=(600, 2)) + 3 * y[:, None], columns=["a", "b"])
    mixed = rng.permutation(600)
    frame = frame.assign(place=place).iloc[mixed]
    table = pd.Series(SHARES, index=list(NAMES)).sort_values()
    bags, shares = Bags.from_groups(frame, None, "place").align(table)
    assert list(bags.X[0].columns) == ["a", "b"]
    estimates = estimator.fit(bags, shares).predict(bags)
    np.testing.assert_allclose(estimates[:, 1], table, atol=0.12)


@pytest.mark.parametrize(
    ("ids", "table", "message"),
    [
        (PLACE, {"south": 0.2, "north": 0.8}, "no row for the bag 'west'.* leave those instances"),
        (PLACE, FORMS["mapping"] | {"east": [0.5, 0.5]}, "rows for the bag 'east', of which there"),
        (
            [f"place {i:02}" for i in range(12)],
            FORMS["series"],
            "the bags 'place 00', 'place 01', .* 'place 04' and 7 more",
        ),
        ([1, 2, 3] * 4, {"1": 0.2, "2": 0.8, "3": 0.5}, r"of type \['int'\], .* \['str'\]"),
        (PLACE, pd.Series(SHARES, index=["west", "north", "west"]), "several rows for the bag 'we"),
        (PLACE, pd.Series(SHARES, index=["west", "north", None]), "not named .row 2."),
        (PLACE, FORMS["data frame"].set_index([[0, 1, 2], list(NAMES)]), "has 2 levels"),
        (
            [1.0, 2.0, np.nan] * 4,
            {1: 0.2, 2: 0.8},
            "groups is missing .* for 4 of 12 instances, .* rows 2, 5",
        ),
        (
            ["a", None, "b"] * 4,
            {"a": 0.2, "b": 0.8},
            "groups is missing .* for 4 of 12 instances, .* rows 1, 4",
        ),
        (
            pd.array([1, None, 2] * 4),
            {1: 0.2, 2: 0.8},
            "groups is missing .* for 4 of 12 instances",
        ),
        (PLACE[:5], FORMS["series"], r"groups has shape \(5,\), but there are 12 instances"),
        (PLACE, TABLE, "must say which bag each row is of"),
        (PLACE, FORMS["series"] * 100, "the share of bag 0 is 20"),
        (PLACE, {name: [0.5, 0.4] for name in NAMES}, "with sum 0.9"),
        (PLACE, dict(zip(NAMES, [[1, 0], [1, 0, 0], [1]], strict=True)), "must be a table"),
        ("place", FORMS["series"], "has no names; .* or an array with the group"),
    ],
)
def test_unmatched_ids_are_named(ids, table, message):
    with pytest.raises(ValueError, match=message):
        Bags.from_groups(X, None, ids).align(table)


def test_a_missing_column_is_refused():
    with pytest.raises(ValueError, match="'place' is the name of no column of X"):
        Bags.from_groups(pd.DataFrame(X), None, "place")
    with pytest.raises(ValueError, match="unused='keep' must be"):
        Bags.from_groups(X, None, PLACE).align(FORMS["series"], unused="keep")


def test_ids_of_equal_dates_and_numbers_are_equal():
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])
    for table in (
        pd.Series(SHARES, index=days),
        dict(zip(days, SHARES, strict=True)),
        dict(zip(days.to_numpy().astype("datetime64[D]"), SHARES, strict=True)),
    ):
        for ids in (np.tile(days, 4), np.tile(days.to_numpy().astype("datetime64[s]"), 4)):
            bags, _ = Bags.from_groups(X, None, ids).align(table)
            np.testing.assert_array_equal(bags.X[0], X[::3])
    bags, _ = Bags.from_groups(X, None, np.tile([0.0, 1.0, 2.0], 4)).align(pd.Series(SHARES))
    np.testing.assert_array_equal(bags.X[2], X[2::3])


def test_names_on_both_sides_decide_the_order():
    release = published()
    order = ("west", "south", "north")
    checked = check_proportions(release, 3, names=order)
    np.testing.assert_array_equal(checked.values, release.proportions[[2, 1, 0]])
    np.testing.assert_array_equal(checked.covariance, release.covariance()[[2, 1, 0]])
    with pytest.raises(ValueError, match="no row for the bag 'east'"):
        check_proportions(release, 3, names=("east", "west", "south"))
    with pytest.raises(ValueError, match="rows for the bag 'north'"):
        check_proportions(release, 2, names=("west", "south"))
    # Numbers from 0 are no names, unless both sides have the same.
    np.testing.assert_array_equal(check_proportions(release, 3, names=range(3)).values[:, 1],
                                  release.proportions[:, 1])  # fmt: skip
    plain = pd.DataFrame(TABLE)
    np.testing.assert_array_equal(check_proportions(plain, 3, names=NAMES).values, TABLE)
    turned = check_proportions(plain.iloc[[2, 0, 1]], 3, names=range(3))
    np.testing.assert_array_equal(turned.values, TABLE)
    with pytest.raises(ValueError, match="these bags have no names; .* Bags.from_groups"):
        check_proportions(FORMS["mapping"], 3)
    # Keys are all there is to go by.
    with pytest.raises(ValueError, match="no row for the bags 0, 1, 2"):
        check_proportions(FORMS["mapping"], 3, names=range(3))
    numbered = dict(zip([2, 0, 1], SHARES, strict=True))
    checked = check_proportions(numbered, 3, names=range(3))
    np.testing.assert_array_equal(checked.values[:, 1], SHARES[[1, 2, 0]])


def test_shares_of_two_classes_are_taken_by_every_estimator():
    rng = np.random.default_rng(0)
    bags = [
        rng.normal(size=(60, 2)) + 3 * (np.arange(60) < 60 * share)[:, None] for share in SHARES
    ]
    estimator = MMDClassRatioEstimator(kernel="linear", random_state=0)
    estimates = estimator.fit(bags, SHARES).predict(bags)
    np.testing.assert_array_equal(estimates, estimator.fit(bags, TABLE).predict(bags))
    score = estimator.score(bags, SHARES)
    assert estimator.score(bags, TABLE) == score
    # Classes with names are compared by these.
    named = pd.DataFrame(TABLE, columns=["well", "ill"])
    assert estimator.score(bags, named) == score
    estimator.fit(bags, named)
    assert estimator.score(bags, named[["ill", "well"]]) == score == estimator.score(bags, TABLE)
    with pytest.raises(ValueError, match="classes .*'sick'.*, and should have .*'well', 'ill'"):
        estimator.score(bags, named.rename(columns={"ill": "sick"}))
    estimator.fit(bags, published()[[1, 0, 2]])  # of the classes 0 and 1
    assert estimator.score(bags, pd.DataFrame(TABLE[:, ::-1], columns=[1, 0])) == pytest.approx(
        estimator.score(bags, TABLE)
    )


def test_columns_and_their_noise_are_put_in_the_order_of_the_classes():
    noise = np.arange(9.0).reshape(3, 3)
    noise = (noise + noise.T + 40 * np.eye(3))[None]
    table = pd.DataFrame([[0.5, 0.3, 0.2]], columns=["spam", "ham", "eggs"])
    checked = check_proportions(table, 1, noise).reorder_classes(np.array(["eggs", "ham", "spam"]))
    np.testing.assert_array_equal(checked.values, [[0.2, 0.3, 0.5]])
    np.testing.assert_array_equal(checked.covariance[0], noise[0][::-1, ::-1])
    with pytest.raises(ValueError, match="has the classes .*, and should have"):
        checked.reorder_classes(np.array(["eggs", "ham", "jam"]))
    numbered = check_proportions([[0.5, 0.3, 0.2]], 1).reorder_classes(checked.classes)
    np.testing.assert_array_equal(numbered.values, [[0.5, 0.3, 0.2]])
    # Numbered from 0 where the numbers are the classes.
    turned = check_proportions(pd.DataFrame([[0.9, 0.1]], columns=[1, 0]), 1)
    assert turned.reorder_classes(np.array([0, 1])).values.tolist() == [[0.1, 0.9]]


def test_an_indefinite_covariance_is_refused():
    for correlation, fine in ((0.999, True), (1.0, True), (1.01, False)):
        noise = np.tile([[1.0, correlation], [correlation, 1.0]], (3, 1, 1))
        if fine:
            assert check_proportions(TABLE, 3, noise).covariance is not None
        else:
            with pytest.raises(ValueError, match="covariance of bag 0 .* positive semidefinite"):
                check_proportions(TABLE, 3, noise)
    check_proportions(published(), 3)  # singular, and rounded


def warning_text(values, sizes):
    """Return the warning about proportions of bags of these sizes, or an empty text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_proportions(values, len(sizes), sizes=sizes)
    assert len(caught) <= 1
    return str(caught[0].message) if caught else ""


@pytest.mark.parametrize("n_classes", [2, 4])
def test_unstated_noise_is_warned_of(n_classes):
    rng = np.random.default_rng(0)
    for size in (37, 100, 512, 3001):
        counts = rng.multinomial(size, np.ones(n_classes) / n_classes, size=8)
        exact, sizes = counts / size, np.full(8, size)
        for kind in (np.float64, np.float32):
            assert warning_text(exact.astype(kind), sizes) == ""
        for decimals in (2, 3, 4):  # some close the sum, so that it is 1
            rounded = exact.round(decimals)
            closed = np.c_[rounded[:, :-1], (1 - rounded[:, :-1].sum(axis=1)).round(decimals)]
            assert (
                warning_text(rounded if abs(rounded.sum(1) - 1).max() < 1e-3 else exact, sizes)
                == ""
            )
            if n_classes == 2:
                assert warning_text(closed, sizes) == ""
                assert warning_text(rounded[:, 1], sizes) == ""
        noisy = exact + rng.normal(size=exact.shape) / size
        noisy += (1 - noisy.sum(axis=1, keepdims=True)) / n_classes
        assert "shares of no whole number" in warning_text(noisy, sizes)
        assert "shares of no whole number" in warning_text(noisy[:, 1].clip(0), sizes)
    assert "negative" in warning_text(np.array([[-5e-4, 1.0005], [0.5, 0.5]]), np.array([100, 100]))


def test_a_release_without_its_covariance_is_warned_of():
    release = published()
    assert "as publish_proportions rounds them" in warning_text(release.proportions, release.sizes)
    assert "covariance=published.covariance()" in warning_text(release.proportions, release.sizes)
    assert warning_text(release, release.sizes) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_proportions(release.proportions, 3, np.zeros((3, 2, 2)), sizes=release.sizes)
        check_proportions(release.proportions, 3)  # to score with


def test_the_warning_of_unstated_noise_points_at_the_line_of_the_user():
    bags = list(np.random.default_rng(0).normal(size=(2, 20, 2)))
    model = SoftmaxClassRatioEstimator(features=None, alpha=0.1, random_state=0)
    with pytest.warns(UserWarning, match="shares of no whole number") as caught:
        model.fit(bags, [[0.31416, 0.68584], [0.71828, 0.28172]])
    assert caught[0].filename == __file__
