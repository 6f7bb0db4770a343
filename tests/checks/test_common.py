"""The family's contract, on every registered mechanism and every kind of ensemble."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from tests.checks import _accountant_checks as accountant_checks
from tests.checks import _ensemble_checks as ensemble_checks
from tests.checks._ensembles import ENSEMBLES
from tests.checks._promises import check_promise, name_checks
from tests.checks._registry import EXAMPLES

from secretballot import mechanisms
from secretballot.mechanisms import GNMax, Mechanism
from secretballot.testing import MechanismExample, check_mechanism
from secretballot.testing import _mechanism_checks as mechanism_checks
from secretballot.testing._mechanism_checks import NotApplicable

#: What says nothing about a mechanism, and why; elsewhere every promise is checked.
NOT_APPLICABLE = {
    **{
        f"{name}-{promise}": "no outcome_law is stated, by which outcomes could be enumerated"
        for name, example in EXAMPLES.items()
        if not isinstance(example.mechanism, mechanisms.TopK)
        and type(example.mechanism).__name__.removeprefix("Confident")
        not in ("BestOfCounts", "BinaryVoting", "GNMax", "PowersetVoting", "TauVoting")
        and getattr(example.mechanism, "opens", None) != "winner"
        for promise in (
            "draws_follow_the_stated_law",
            "charges_pass_the_filter",
            "gaussian_charges_cover_the_law",
        )
    },
    **{
        f"{name}-charges_pass_the_filter": "with a delta of its own there is no moment to bound"
        for name, example in EXAMPLES.items()
        if hasattr(example.mechanism, "delta_t")
    },
    **{
        f"{name}-runs_end_predictably": "parallel rows are all answered, or none"
        for name in EXAMPLES
        if name.endswith("Proportions")
    },
}


#: Checks of a mechanism: its own, and those of the accountant that releases it.
CHECKS = (*mechanism_checks.MECHANISM_CHECKS, *accountant_checks.ACCOUNTANT_CHECKS)


@pytest.mark.parametrize(
    ("name", "check"), [pytest.param(*each, id=each[0]) for each in name_checks(CHECKS, EXAMPLES)]
)
def test_mechanism(name, check):
    reason = None
    try:
        check()
    except NotApplicable as outcome:
        reason = str(outcome)
    assert reason == NOT_APPLICABLE.get(name)
    if reason:
        raise NotApplicable(reason)  # pytest reports a skip


# The audit is in test_ensemble_draws, with twice the draws and more to ask for.
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=name)
        for name, check in name_checks(ensemble_checks.ENSEMBLE_CHECKS, ENSEMBLES)
        if not name.endswith("private_labels_survive_the_audit")
    ],
)
def test_ensemble(check):
    check()


def test_every_public_mechanism_has_an_example():
    public = {
        value
        for name in mechanisms.__all__
        if inspect.isclass(value := getattr(mechanisms, name)) and not inspect.isabstract(value)
    }
    assert public
    assert public == {type(example.mechanism) for example in EXAMPLES.values()}
    assert all(issubclass(one, Mechanism) for one in public)


PAIR = np.array([[[3.0, 2.0]], [[2.0, 3.0]]])
OWN = MechanismExample(mechanism=GNMax(sigma=2.0), counts=PAIR[:, 0], neighbours=(PAIR,))


@pytest.mark.parametrize(
    ("module", "listed"),
    [
        (mechanism_checks, mechanism_checks.MECHANISM_CHECKS),
        (accountant_checks, accountant_checks.ACCOUNTANT_CHECKS),
        (ensemble_checks, ensemble_checks.ENSEMBLE_CHECKS),
    ],
    ids=["mechanism", "accountant", "ensemble"],
)
def test_every_check_is_listed(module, listed):
    checks = {
        value
        for name, value in vars(module).items()
        if name.startswith("check_") and value.__module__ == module.__name__
    }
    assert checks == set(listed)
    assert len(listed) == len(checks) > 0


def test_a_check_that_does_not_apply_has_not_passed():
    reasons = check_mechanism(EXAMPLES["NoisyMargin"])
    skipped = {name.partition("-")[2] for name in NOT_APPLICABLE if name.startswith("NoisyMargin")}
    assert skipped
    assert set(reasons) == skipped

    class ForBoth(GNMax):
        relations = frozenset({"replace", "add_remove"})

    with pytest.raises(NotApplicable, match="there is none to refuse"):
        accountant_checks.check_relation_is_enforced(replace(OWN, mechanism=ForBoth(sigma=2.0)))


# What `check_mechanism` refuses as a whole; errors planted in the library are in
# test_planted_errors.


class HalfTheNoise(GNMax):
    def sample(self, counts, rng):
        return GNMax(sigma=self.sigma / 2).sample(counts, rng)


class ChargesMoreThanItsMost(GNMax):
    def executed(self, outcome):
        return {"vote": np.full(len(outcome), 2.0)}


class HidesItsNoise(GNMax):
    def describe(self):
        return {"mechanism": type(self).__name__}


@pytest.mark.parametrize(
    ("mechanism", "promise"),
    [
        (HalfTheNoise, "outcomes are drawn by the stated law"),
        (ChargesMoreThanItsMost, "than its max_cost"),
        (HidesItsNoise, "tells every parameter"),
    ],
)
def test_broken_mechanisms_are_refused(mechanism, promise):
    planted = replace(EXAMPLES["GNMax"], mechanism=mechanism(sigma=1.5))
    with pytest.raises((AssertionError, RuntimeError), match=promise):
        check_mechanism(planted)


def test_weak_neighbours_need_a_lower_tightness():
    example = EXAMPLES["GNMax"]
    dull = replace(example, neighbours=example.neighbours[:1])
    with pytest.raises(AssertionError, match=r"less than tightness=0\.7 of it"):
        check_promise("claim_survives_the_audit", dull)
    check_promise("claim_survives_the_audit", replace(dull, tightness=0.3))
