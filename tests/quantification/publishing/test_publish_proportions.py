"""Publication of proportions: releases, charges, refusals and messages."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from benchmarks.proportions.published_rule import calibrate_by_published_rule

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, PrivacyLeakWarning
from secretballot.datasets import make_bags
from secretballot.mechanisms import DirichletProportions, GaussianProportions, LaplaceProportions
from secretballot.quantification import Bags, publish_proportions
from secretballot.quantification._publish_proportions import (
    MECHANISM_NAMES,
    PublicParameters,
    count_labels,
)


def bags_of(*counts, classes=None):
    labels = np.arange(len(counts[0])) if classes is None else np.array(classes)
    return [np.repeat(labels, row) for row in counts]


def budget(epsilon=1.0, delta=1e-5, **kwargs):
    return PrivacyAccountant(epsilon, delta, unit="label", order=np.inf, **kwargs)


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISM_NAMES])
def test_contents_of_a_publication(mechanism):
    bags = Bags.from_groups(None, np.tile([0, 1, 1, 2], 500), groups=np.arange(2000) // 500)
    accountant = budget()
    out = publish_proportions(bags, [0, 1, 2], 1.0, 1e-5, mechanism, accountant=accountant)
    assert out.proportions.shape == (4, 3)
    assert np.all(out.proportions.sum(axis=1) == 1)
    np.testing.assert_allclose(out.proportions, [[0.25, 0.5, 0.25]] * 4, atol=0.25)
    assert out.names == (0, 1, 2, 3)
    assert out.sizes.tolist() == [500] * 4
    assert out.expected_distortion.shape == (4,)
    assert out.covariance().shape == (4, 3, 3)
    (entry,) = accountant.entries()
    assert entry.n_rows == 4
    assert json.loads(entry.note)["bags_formed_by"] == "group"
    assert accountant.spent().amount == 1.0
    assert float(accountant.spent().cost.delta) <= 1e-5
    assert "label" in str(out.statement)
    assert type(out.mechanism).__name__ in repr(out)
    assert pickle.loads(pickle.dumps(out)).proportions.tolist() == out.proportions.tolist()


def test_without_an_accountant_a_budget_of_its_own_is_spent():
    out = publish_proportions(bags_of([30, 40], [5, 60]), [0, 1], 0.5, 0)
    assert out.statement.levels[0]["epsilon"] == 0.5
    assert out.statement.levels[0]["share_spent"] == 1
    assert isinstance(out.mechanism, LaplaceProportions)  # delta=0 leaves nothing else


def test_releases_add_up_on_one_accountant():
    accountant, bags = budget(1.0, 2e-5), bags_of([30, 40], [5, 60])
    for _ in range(2):
        publish_proportions(bags, [0, 1], 0.5, 1e-5, "gaussian", accountant=accountant)
    with pytest.raises(BudgetExceededError):
        publish_proportions(bags, [0, 1], 0.5, 1e-5, "gaussian", accountant=accountant)
    assert len(accountant.entries()) == 2


def test_a_budget_at_a_finite_order_is_charged():
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label", order="renyi", approximation_delta=5e-6)
    publish_proportions(bags_of([50, 40]), [0, 1], 0.2, 1e-6, "gaussian", accountant=accountant)
    assert 0 < accountant.spent().share < 1


def test_a_mechanism_instance_is_used_unchanged():
    mechanism = GaussianProportions(sigma=30.0)
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label")
    out = publish_proportions(
        bags_of([50, 40]), [0, 1], 2.0, 1e-5, mechanism, accountant=accountant
    )
    assert out.mechanism is mechanism
    assert accountant.entries()


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (LaplaceProportions(scale=0.5), "charged epsilon=2, more than the epsilon=0.1 asked for"),
        (GaussianProportions(sigma=300.0), "charged epsilon=inf, more than the epsilon=0.1"),
        (GaussianProportions.calibrated(2.0, 1e-6), "charged epsilon=2, more than the epsilon=0.1"),
        (GaussianProportions.calibrated(0.1, 0.01), "at epsilon=0.1, more than the delta=1e-06"),
    ],
)
@pytest.mark.parametrize("with_accountant", [True, False], ids=["an accountant", "none"])
def test_a_mechanism_beyond_epsilon_or_delta_is_refused(mechanism, message, with_accountant):
    accountant = budget(5.0, 0.1) if with_accountant else None
    with pytest.raises(ValueError, match=message):
        publish_proportions(bags_of([50, 40]), [0, 1], 0.1, 1e-6, mechanism, accountant=accountant)
    assert not with_accountant or not accountant.entries()


def test_a_mechanism_charged_by_its_curve_is_checked():
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label")
    with pytest.raises(ValueError, match="at epsilon=0.1, more than the delta=1e-06 asked for"):
        publish_proportions(
            *(bags_of([50, 40]), [0, 1], 0.1, 1e-6, GaussianProportions(sigma=10.0)),
            accountant=accountant,
        )
    assert not accountant.entries()


@pytest.mark.parametrize("name", MECHANISM_NAMES)
def test_a_mechanism_calibrated_to_the_pair_is_accepted(name):
    made = PublicParameters(0.7, 1e-5, np.array([90]), 2, 0, "auto").calibrate(name)
    accountant = budget(0.7, 1e-5)
    publish_proportions(bags_of([50, 40]), [0, 1], 0.7, 1e-5, made, accountant=accountant)
    assert accountant.spent().amount == 0.7


@pytest.mark.filterwarnings("ignore:the same labels were released before")
def test_the_promise_of_a_mechanism_instance_counts():
    mechanism = DirichletProportions.calibrated(1.0, 1e-4, min_count=20)
    arguments = ([0, 1], 1.0, 1e-4, mechanism)
    with_accountant, alone = (
        publish_proportions(bags_of([50, 40]), *arguments, min_count=least).expected_distortion
        for least in (20, None)
    )
    assert with_accountant == alone
    with pytest.raises(ValueError, match="min_count=20 for each of 2 classes can't hold"):
        publish_proportions(bags_of([20, 19]), *arguments)


def test_classes_may_be_words_and_may_be_absent():
    bags = [["yes"] * 500 + ["no"] * 400, ["yes"]]
    with pytest.warns(UserWarning, match="of 1 of 2 bags will be mostly noise"):
        out = publish_proportions(bags, ["yes", "no", "unknown"], 2.0, 1e-5)
    assert out.classes.tolist() == ["no", "unknown", "yes"]
    assert out.proportions[0, 1] < 0.05
    assert out.sizes.tolist() == [900, 1]  # a bag of one is published, mostly as noise


PROMISE = {"mechanism": "dirichlet", "min_count": 10, "pseudo_count": 0.0}


@pytest.mark.parametrize(
    ("bags", "options", "message"),
    [
        (bags_of([300, 400], [300, 9]), PROMISE, "min_count=10 is promised, but the bag 1"),
        (bags_of([300, 400], [3, 9]), PROMISE, "can't hold in the bag 1 of 12 labels"),
        ([[0, 1], []], {}, "the bag 1 is empty"),
        ([], {}, "no bag"),
        ([[0, 1], [0, 2]], {}, "the bag 1 has labels that are none of classes"),
        ([[0, 1], ["0", "1"]], {}, "the bag 1 has labels that are none of"),
        ([[0, 1], [0, np.nan]], {}, "the bag 1 has missing labels; leave"),
        ([[0, 1], [None, "1"]], {}, "the bag 1 has missing labels; leave"),
        ([[0, 1], pd.array([1, None], dtype="boolean")], {}, "the bag 1 has missing labels"),
        (Bags.from_groups(None, [0, 1], [3, 4])[[]], {}, "no bag"),
        ([0, 1, 1], {}, "the bag 0 is not a list of labels.*; Bags.from_groups makes bags"),
        ([[[0, 1], [1]]], {}, "the bag 0 is not a list of labels"),
        ([[500, 300]], {}, "give labels rather than counts"),
        ([[0, 1], np.ma.array([0, 1], mask=[0, 1])], {}, "the bag 1 is a masked array"),
        (5, {}, "y_bags is of <class 'int'>; give a list with the labels of each bag"),
        ({"a": [0, 1]}, {}, "y_bags is of <class 'dict'>"),
        ("01", {}, "y_bags is of <class 'str'>"),
        (np.ma.array([[0, 1]], mask=[[0, 1]]), {}, "the bag 0 is a masked array"),
        ([[0, 1]], {"classes": [0, 0]}, "holds 1 class"),
        ([[0, 1]], {"classes": [0]}, "holds 1 class"),
        ([[0, 1]], {"classes": [0, np.nan]}, "names a missing label"),
        ([["a", "b"]], {"classes": ["a", None]}, "names a missing label"),
        ([[0, 1]], {"mechanism": "gaussian", "pseudo_count": 1}, "is for mechanism='dirichlet'"),
        ([[0, 1]], {"mechanism": "geometric"}, "mechanism='geometric' is unknown"),
        ([[0, 1]], {"mechanism": 3}, "mechanism=3 is unknown"),
        ([[0, 1]], {"epsilon": 0}, "epsilon=0 must be"),
        ([[0, 1]], {"delta": 1}, "delta=1 must be"),
        ([[0, 1]], {"min_count": -1}, "min_count=-1 must be"),
        ([[0, 1]], {"pseudo_count": -1.0}, "pseudo_count=-1.0 must be"),
        ([[0, 1]], {"mechanism": "gaussian", "delta": 0}, "delta=0 takes Laplace"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(bags, options, message):
    accountant = budget(3.0, 0.01)
    arguments = {"classes": [0, 1], "epsilon": 3.0, "delta": 0.01} | options
    with pytest.raises(ValueError, match=message):
        publish_proportions(bags, accountant=accountant, **arguments)
    assert not accountant.entries()


def test_the_bag_that_breaks_a_promise_is_named():
    bags = Bags.from_groups(None, np.repeat([0, 1], [100, 5]), np.repeat(["x"], 105))
    with pytest.raises(ValueError, match="the bag 'x' has a class with fewer labels"):
        publish_proportions(bags, [0, 1], 3.0, 0.01, **PROMISE)


def test_an_accountant_of_another_unit_is_refused():
    with pytest.raises(TypeError, match="accountant=1.0 must be None or a PrivacyAccountant"):
        publish_proportions([[0, 1]], [0, 1], 0.5, 1e-6, accountant=1.0)
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="unit='row', but proportions protect one label"):
        publish_proportions([[0, 1]], [0, 1], 0.5, 1e-6, accountant=accountant)


@pytest.mark.parametrize(
    "copied", [np.array, list, lambda labels: labels], ids=["array", "list", "itself"]
)
def test_a_bag_that_is_given_twice_is_refused(copied):
    labels = np.random.default_rng(0).integers(2, size=200)
    accountant = budget()
    with pytest.raises(ValueError, match="bags 0 and 2 hold the same labels"):
        publish_proportions(
            [labels, labels[::-1], copied(labels)], [0, 1], 0.5, 0, accountant=accountant
        )
    assert not accountant.entries()


def test_bags_that_are_equal_by_chance_are_published():
    few, sorted_labels = np.arange(12) % 2, np.repeat([0, 1], 100)
    rare = np.arange(300) == 7
    bags = [few, few.copy(), sorted_labels, sorted_labels.copy(), rare, rare.copy()]
    assert len(publish_proportions(bags, [0, 1], 0.5, 0)) == 6
    with pytest.raises(ValueError, match="bags 0 and 1 hold the same labels"):
        publish_proportions([few, few], [0, 1], 0.5, 0)


def test_the_statement_says_whose_word_it_is_that_bags_are_disjoint():
    labels = np.random.default_rng(0).integers(2, size=200)
    of_list = publish_proportions([labels[:90], labels[90:]], [0, 1], 0.5, 0)
    of_groups = publish_proportions(
        Bags.from_groups(None, labels, groups=np.arange(200) < 90), [0, 1], 0.5, 0
    )
    said = "no instance is in two bags"
    assert said in " ".join(str(of_list.statement).split())
    assert said not in " ".join(str(of_groups.statement).split())


def test_a_budget_of_another_order_names_the_one_that_fits():
    bags = bags_of([300, 400], [50, 600])
    for options, also in (({}, True), ({"approximation_delta": 2e-6}, True)):
        accountant = PrivacyAccountant(1.0, 1e-5, unit="label", **options)
        message = r"LaplaceProportions of epsilon=0\.5.*order=math\.inf\)\."
        with pytest.raises(BudgetExceededError, match=message) as error:
            publish_proportions(bags, [0, 1], 0.5, 1e-6, accountant=accountant)
        assert ("mechanism='gaussian' may fit" in str(error.value)) == also
        publish_proportions(bags, [0, 1], 0.5, 1e-6, "gaussian", accountant=accountant)
    publish_proportions(bags, [0, 1], 0.5, 1e-6, accountant=budget())
    with pytest.raises(BudgetExceededError, match="can cost 0.5 of divergence"):
        publish_proportions(bags, [0, 1], 0.5, 1e-6, accountant=budget(0.3))
    with pytest.raises(BudgetExceededError, match=r"order=math\.inf\)\.$"):
        publish_proportions(bags, [0, 1], 4.0, 1e-6, "gaussian", accountant=accountant)


def test_bags_formed_by_label_warn():
    bags = make_bags(None, np.repeat([0, 1], 500), size=200, random_state=0)
    accountant = budget()
    with pytest.warns(PrivacyLeakWarning, match="formed by label"):
        publish_proportions(bags, [0, 1], 1.0, 1e-5, accountant=accountant)
    assert json.loads(accountant.entries()[0].note)["bags_formed_by"] == "label"
    grouped = Bags.from_groups(None, np.repeat([0, 1], 500), np.arange(1000) % 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        publish_proportions(grouped, [0, 1], 1.0, 1e-5)


def public_parts_agree(publish):
    """Neighbouring labels must give the same mechanism, sizes and distortion: all are published."""
    one, two = bags_of([60, 50, 200], [90, 80, 70]), bags_of([60, 49, 201], [90, 80, 70])
    first, second = publish(one), publish(two)
    assert first.mechanism == second.mechanism
    np.testing.assert_array_equal(first.sizes, second.sizes)
    np.testing.assert_array_equal(first.expected_distortion, second.expected_distortion)


@pytest.mark.filterwarnings("ignore:the same labels were released before")
@pytest.mark.parametrize("mechanism", ["auto", *MECHANISM_NAMES])
def test_only_the_proportions_depend_on_labels(mechanism):
    public_parts_agree(
        lambda bags: publish_proportions(bags, [0, 1, 2], 1.0, 1e-4, mechanism, min_count=40)
    )


@pytest.mark.filterwarnings("ignore:the same labels were released before")
def test_noise_tuned_to_private_counts_is_detected():
    # The planted error: the published rule, which looks at the counts.
    def tuned(bags):
        counts = [np.bincount(labels, minlength=3) for labels in bags]
        mechanism = calibrate_by_published_rule(1.0, 1e-4, counts)
        return publish_proportions(bags, [0, 1, 2], 1.0, 1e-4, mechanism)

    with pytest.raises(AssertionError):
        public_parts_agree(tuned)


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "n_classes", "least", "winner"),
    [
        (0.05, 0.05, 1000, 5, 50, GaussianProportions),
        (1.0, 1e-5, 1000, 5, 50, LaplaceProportions),
        (0.5, 1e-6, 100_000, 2, 0, LaplaceProportions),
    ],
)
def test_auto_takes_the_least_distorting_mechanism(epsilon, delta, size, n_classes, least, winner):
    public = PublicParameters(epsilon, delta, np.array([size]), n_classes, least, "auto")
    best = public.least_distorting()
    assert isinstance(best, winner)
    assert public.distortion(best)[0] == min(
        public.distortion(public.calibrate(n))[0] for n in MECHANISM_NAMES
    )


def test_auto_pseudo_counts_distort_least():
    public = PublicParameters(0.5, 1e-4, np.array([500, 2000, 500]), 4, 0, "auto")
    auto = public.distortion(public.calibrate("dirichlet"))
    assert auto[0] == auto[2] > auto[1]
    for pseudo_count in (0.05, 0.5, 2.0, 20.0, 200.0):
        other = PublicParameters(0.5, 1e-4, public.sizes, 4, 0, pseudo_count)
        assert auto.mean() <= other.distortion(other.calibrate("dirichlet")).mean() * 1.01
    # A promise makes them unnecessary, if it is large enough.
    promised = PublicParameters(0.5, 1e-4, np.array([500, 2000, 500]), 4, 100, "auto")
    assert promised.distortion(promised.calibrate("dirichlet")).mean() < auto.mean()
    assert (
        PublicParameters(0.5, 1e-4, np.array([500]), 4, 1, "auto")
        .calibrate("dirichlet")
        .pseudo_count
        > 0
    )


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("classes", [[1, 1.5], [1, 2, 2.5], [False, True, 7]])
def test_the_type_of_one_label_changes_no_other(classes, grouped):
    classes_array = np.array([*classes, None], dtype=object)[:-1]

    def counted(labels):
        bags = Bags.from_groups(None, labels, groups=[0] * len(labels)) if grouped else [labels]
        return count_labels(bags, classes_array)[0][0]

    first, *_, last = classes
    move = counted([first] * 9 + [last]) - counted([first] * 10)
    assert (move[0], move[-1], np.abs(move).sum()) == (-1, 1, 2)


@pytest.mark.parametrize("mechanism", ["auto", "gaussian", "laplace", "laplace_prior", "dirichlet"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_bags_whose_proportions_are_noise_are_warned_of(mechanism, n_classes):
    """What was known beforehand: even proportions are as close to the truth."""
    classes, rng = np.arange(n_classes), np.random.default_rng(0)
    small = [rng.integers(n_classes, size=size) for size in (1, 2, 3)]
    large = [rng.integers(n_classes, size=4_000) for _ in range(2)]
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label", order=np.inf)
    amount = {"epsilon": 0.5, "delta": 1e-6, "mechanism": mechanism, "accountant": accountant}
    with pytest.warns(UserWarning, match="of 3 of 5 bags will be mostly noise.*Merge small bags"):
        publish_proportions([*small, *large], classes, **amount)
    publish_proportions(large, classes, **amount)


def test_the_warning_of_noise_comes_before_anything_is_paid():
    accountant = PrivacyAccountant(2.0, 1e-5, unit="label", order=np.inf)
    with pytest.raises(UserWarning, match="mostly noise"):  # warnings are errors here
        publish_proportions([[0, 1], [1]], [0, 1], 0.5, 1e-6, accountant=accountant)
    assert not accountant.entries()
