"""Each error is patched in, and the check that guards against it has to fail.

Without the patch every one of these checks passes: `test_common` runs them all, and the examples
that are made here are checked here.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.checks import _accountant_checks as accountant
from tests.checks import _ensemble_checks as ensemble
from tests.checks import _planted as planted
from tests.checks._ensembles import ESTIMATORS, make_ensemble
from tests.checks._registry import EXAMPLES

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.costs._divergence import renyi_divergence
from secretballot.mechanisms import ConfidentGNMax, GNMax
from secretballot.testing import MechanismExample, Neighbours
from secretballot.testing import _mechanism_checks as mechanism

PLAIN, CONFIDENT, TURNS = (EXAMPLES[k] for k in ("GNMax", "ConfidentGNMax", "RoundRobin"))


def votes(one, two, group="*", n_rows=1):
    return Neighbours(*(np.tile(np.array(v, float), (n_rows, 1)) for v in (one, two)), group)


# Where the threshold is what costs.
THRESHOLD = replace(
    CONFIDENT,
    mechanism=ConfidentGNMax(sigma=4.0, sigma_threshold=1.5, threshold=10.0),
    neighbours=(votes([8, 6, 0], [7, 7, 0]),),
)
# Data and neighbour the other way round.
SWAPPED = replace(CONFIDENT, neighbours=tuple(pair[::-1] for pair in CONFIDENT.neighbours))
WEIGHTED = replace(
    PLAIN,
    mechanism=GNMax(sigma=1.5, weight={"light": 1.0, "heavy": 2.0}),
    neighbours=(
        votes([8, 12, 0], [7, 13, 0], "light"),
        votes([8, 12, 0], [6, 14, 0], "heavy"),
    ),
)
COPIED = replace(
    PLAIN,
    mechanism=GNMax(sigma=1.5, ballots={"once": 1, "twice": 2}),
    counts=np.array([[9.0, 1.0], [4.0, 3.0], [0.0, 10.0]]),
    neighbours=(votes([8, 12], [7, 13], "once"), votes([8, 12], [6, 14], "twice")),
)
# Four tied queries in one release.
REPEATED = replace(PLAIN, neighbours=(votes([5, 5, 0], [6, 4, 0], n_rows=4),))
LOGISTIC = partial(make_ensemble, ESTIMATORS["logistic regression"])

PROVEN = "outcomes prove epsilon"
COVERED = "what outcomes are charged, each its own, covers"
ON_KNOWN_VOTES = "covers what they reveal; not on the votes"
ONCE = "every row is seen by one teacher, and once"

CASES = [
    (planted.half_the_noise, mechanism.check_claim_survives_the_audit, PLAIN, PROVEN),
    (planted.half_the_noise, mechanism.check_claim_survives_the_audit, CONFIDENT, PROVEN),
    (planted.half_the_noise, mechanism.check_draws_follow_the_stated_law, PLAIN, "the stated law"),
    (planted.half_the_noise, ensemble.check_private_labels_survive_the_audit, LOGISTIC, PROVEN),
    (planted.noise_on_one_count_only, mechanism.check_claim_survives_the_audit, PLAIN, PROVEN),
    (
        planted.noise_on_one_count_only,
        mechanism.check_draws_follow_the_stated_law,
        PLAIN,
        "the stated law",
    ),
    (planted.dropped_threshold_charge, mechanism.check_claim_survives_the_audit, THRESHOLD, PROVEN),
    (planted.dropped_threshold_charge, mechanism.check_charges_pass_the_filter, CONFIDENT, COVERED),
    (
        planted.threshold_charged_only_if_it_passes,
        mechanism.check_charges_pass_the_filter,
        CONFIDENT,
        COVERED,
    ),
    (
        planted.threshold_charged_only_if_it_passes,
        mechanism.check_charges_pass_the_filter,
        SWAPPED,
        COVERED,
    ),
    (
        planted.half_the_mu2,
        mechanism.check_gaussian_charges_cover_the_law,
        PLAIN,
        "a Gaussian budget covers what it reveals",
    ),
    (planted.anothers_weight, mechanism.check_claim_survives_the_audit, WEIGHTED, PROVEN),
    (planted.anothers_weight, mechanism.check_charges_pass_the_filter, WEIGHTED, COVERED),
    (
        planted.one_ballot_charged_for_several,
        mechanism.check_claim_survives_the_audit,
        COPIED,
        PROVEN,
    ),
    (
        planted.one_ballot_charged_for_several,
        mechanism.check_charges_pass_the_filter,
        COPIED,
        COVERED,
    ),
    (
        planted.known_votes_charged_in_one_direction,
        mechanism.check_charges_pass_the_filter,
        PLAIN,
        ON_KNOWN_VOTES,
    ),
    (
        planted.known_gap_of_the_threshold_charged_half,
        mechanism.check_charges_pass_the_filter,
        CONFIDENT,
        ON_KNOWN_VOTES,
    ),
    (
        planted.law_without_numbers,
        mechanism.check_charges_pass_the_filter,
        PLAIN,
        COVERED,
    ),
    (planted.turns_charged_half, mechanism.check_claim_survives_the_audit, TURNS, PROVEN),
    (planted.a_row_seen_by_two_teachers, ensemble.check_every_row_is_seen_once, LOGISTIC, ONCE),
    (
        planted.a_row_seen_by_two_teachers,
        ensemble.check_one_record_moves_one_ballot,
        LOGISTIC,
        "moves at most one ballot",
    ),
    (
        planted.a_row_seen_by_two_teachers,
        ensemble.check_one_owner_moves_one_ballot,
        LOGISTIC,
        "moves at most one ballot",
    ),
    (
        planted.a_row_seen_twice_by_its_teacher,
        ensemble.check_every_row_is_seen_once,
        LOGISTIC,
        ONCE,
    ),
    (
        planted.partition_by_a_sort_of_the_features,
        ensemble.check_one_record_reaches_one_teacher,
        LOGISTIC,
        "reaches one teacher, and no other",
    ),
    (
        planted.a_row_seen_by_two_teachers,
        ensemble.check_one_record_reaches_one_teacher,
        LOGISTIC,
        "reaches one teacher, and no other",
    ),
    (
        planted.a_parameter_that_is_not_told,
        mechanism.check_is_an_immutable_description,
        PLAIN,
        "tells every parameter",
    ),
    (
        planted.known_votes_charged_more_than_any,
        mechanism.check_charges_no_more_than_its_most,
        PLAIN,
        "no known row costs more than the worst case",
    ),
    (
        planted.answers_beyond_the_budget,
        accountant.check_answers_only_what_was_paid_for,
        PLAIN,
        "what is returned is recorded, no more",
    ),
    (
        planted.a_refusal_that_is_recorded,
        accountant.check_refusal_changes_nothing,
        EXAMPLES["LaplaceProportions"],
        "a refusal records nothing",
    ),
    (
        planted.any_relation_will_do,
        accountant.check_relation_is_enforced,
        PLAIN,
        "for which nothing is proven",
    ),
    (
        planted.a_ledger_that_forgets_an_entry,
        accountant.check_ledger_replays_to_the_same_epsilon,
        PLAIN,
        "the entries add up",
    ),
    (
        planted.labels_from_somewhere_else,
        ensemble.check_refusal_returns_nothing_and_changes_nothing,
        LOGISTIC,
        "labels beyond the budget are refused",
    ),
    (
        planted.a_budget_made_unseen,
        ensemble.check_no_budget_no_release,
        LOGISTIC,
        "no label without a budget",
    ),
    (
        planted.a_prediction_that_spends,
        ensemble.check_free_methods_are_free,
        LOGISTIC,
        "prediction by the student costs nothing",
    ),
    (
        planted.a_public_attribute_of_private_labels,
        ensemble.check_public_attributes_are_public,
        LOGISTIC,
        "the public attribute first_label_ depends on private data",
    ),
    (
        planted.a_student_that_carries_its_teachers,
        ensemble.check_student_carries_no_private_state,
        LOGISTIC,
        "the deployed student carries",
    ),
    (
        planted.spend_recorded_after_return,
        accountant.check_returned_means_recorded,
        PLAIN,
        "in the ledger already",
    ),
    (
        planted.clone_with_a_copied_budget,
        accountant.check_copies_share_one_budget,
        PLAIN,
        "spends from the same budget",
    ),
    (
        planted.clone_with_a_copied_budget,
        ensemble.check_clone_shares_the_budget,
        LOGISTIC,
        "spends from the same budget",
    ),
    (
        planted.generator_reseeded_per_release,
        mechanism.check_every_release_draws_afresh,
        PLAIN,
        "no release repeats the noise",
    ),
    (
        planted.generator_reseeded_per_block,
        mechanism.check_draws_are_independent,
        PLAIN,
        "independent of every other row's",
    ),
    (
        planted.generator_reseeded_per_batch_of_labels,
        ensemble.check_batches_draw_afresh,
        LOGISTIC,
        "no batch of labels repeats",
    ),
    (
        planted.a_prefix_that_ends_because_of_an_unpaid_bit,
        accountant.check_runs_end_predictably,
        CONFIDENT,
        "begun only if the most it can cost fits",
    ),
    (
        planted.a_batch_charged_as_one_row,
        mechanism.check_every_row_is_charged_alone,
        PLAIN,
        "a row costs the same in any batch",
    ),
    (
        planted.cost_of_a_row_for_the_whole_release,
        accountant.check_cost_is_linear_in_the_count,
        PLAIN,
        "costs add up",
    ),
    (
        planted.cost_scaled_by_the_root_of_the_count,
        mechanism.check_claim_survives_the_audit,
        REPEATED,
        "a Renyi divergence is",
    ),
]


@pytest.mark.parametrize(
    ("plant", "check", "subject", "promise"),
    [
        pytest.param(*case, id=f"{case[0].__name__}-{case[1].__name__}-{number}")
        for number, case in enumerate(CASES)
    ],
)
def test_the_check_fails_on_a_planted_error(plant, check, subject, promise, monkeypatch):
    for module in (mechanism, ensemble):  # half of the draws are enough
        monkeypatch.setattr(module, "CI_DRAWS", mechanism.CI_DRAWS // 2)
    plant(monkeypatch.setattr)
    with pytest.raises(AssertionError, match=promise):
        check(subject)


@pytest.mark.parametrize("example", [THRESHOLD, WEIGHTED, COPIED, REPEATED])
def test_the_checks_pass_without_a_planted_error(example: MechanismExample):
    mechanism.check_claim_survives_the_audit(example)
    mechanism.check_charges_pass_the_filter(example)


def test_the_filter_itself():
    log_p, log_q = np.log([0.5, 0.5]), np.log([0.9, 0.1])

    def covers(curve, one=log_p, two=log_q):
        return mechanism._covers(RenyiCost(np.tile(curve, (2, 1))), one, two)

    there, back = (renyi_divergence(*two, ORDERS) for two in ((log_p, log_q), (log_q, log_p)))
    assert covers(there)
    assert covers(back, log_q, log_p)
    # One order too little, the last one alone, the other direction's.
    for order in (0, 60, -1):
        less = there.copy()
        less[order] *= 1 - 1e-6
        assert not covers(less)
    assert not covers(np.minimum(there, back * (1 - 1e-6)))
    # What can't happen on the neighbour costs everything; what is no number proves nothing.
    never = np.array([0.0, -np.inf])
    assert not covers(there, log_p, never)
    assert covers(np.full(len(ORDERS), np.inf), log_p, never)
    assert covers(there * 0 + 50, never, log_p)
    assert not covers(there, np.array([np.nan, 0.0]), log_q)
    assert not covers(there, log_p, np.array([np.nan, 0.0]))


def test_every_planted_error_is_guarded():
    errors = {
        value
        for name, value in vars(planted).items()
        if callable(value) and value.__module__ == planted.__name__ and not name.startswith("_")
    }
    assert {case[0] for case in CASES} == errors


def test_every_check_can_fail():
    checks = mechanism.MECHANISM_CHECKS, accountant.ACCOUNTANT_CHECKS, ensemble.ENSEMBLE_CHECKS
    assert {case[1] for case in CASES} == {check for kind in checks for check in kind}
