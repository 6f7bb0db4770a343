"""Errors that are patched in, each a mistake that somebody has made, or could."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secretballot.accounting import (
    ORDERS,
    BudgetExceededError,
    PrivacyAccountant,
    RenyiCost,
    _accountant,
    _limits,
)
from secretballot.accounting._pricing import GaussianPricing
from secretballot.costs import NoisyBit, NoisyMax
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._exact_max import max_log_probabilities
from secretballot.ensemble import PrivateTeacherEnsemble, _partition
from secretballot.mechanisms import ConfidentGNMax, GNMax, LaplaceProportions, RoundRobin
from secretballot.tables._private_rows import PrivateRows
from secretballot.tables._randomness import Randomness
from secretballot.testing._outcome_laws import OutcomeLaw


def half_the_noise(patch):
    sample = GNMax.sample
    patch(GNMax, "sample", lambda self, counts, rng: sample(_less_noisy(self), counts, rng))


def _less_noisy(mechanism):
    return replace(mechanism, sigma=mechanism.sigma / 2)


def noise_on_one_count_only(patch):
    def sample(self, counts, rng):
        noisy = counts.copy()
        noisy[:, 0] += rng.normal(scale=self.sigma, size=len(counts))
        return noisy.argmax(axis=1)

    patch(GNMax, "sample", sample)


def dropped_threshold_charge(patch):
    laws = ConfidentGNMax.laws

    def without(self, n_columns=None):
        return {
            group: tuple(step for step in law if step.name != "threshold")
            for group, law in laws(self, n_columns).items()
        }

    patch(ConfidentGNMax, "laws", without)


def threshold_charged_only_if_it_passes(patch):
    executed = ConfidentGNMax.executed

    def answered(self, outcome):
        steps = executed(self, outcome)
        return {**steps, "threshold": steps["vote"]}

    patch(ConfidentGNMax, "executed", answered)


def anothers_weight(patch):
    laws = GNMax.laws

    def swapped(self, n_columns=None):
        found = laws(self, n_columns)
        return dict(zip(found, reversed(found.values()), strict=True))

    patch(GNMax, "laws", swapped)


def one_ballot_charged_for_several(patch):
    patch(NoisyMax, "ratio", property(lambda self: self.weight / self.sigma))


def known_votes_charged_in_one_direction(patch):
    # D(data, neighbour) alone, for the neighbour that takes a ballot from the winner.
    def one_way(self, state):
        moved = state.copy()
        rows = np.arange(len(state))
        moved[rows, state.argmax(axis=1)] -= self.weight
        moved[rows, state.argmin(axis=1)] += self.weight
        laws = [max_log_probabilities(votes, self.sigma)[:, None] for votes in (state, moved)]
        return np.concatenate([renyi_divergence(p, q, ORDERS) for p, q in zip(*laws, strict=True)])

    patch(NoisyMax, "exact", one_way)


def known_gap_of_the_threshold_charged_half(patch):
    exact = NoisyBit.exact
    patch(NoisyBit, "exact", lambda self, state: exact(self, state) / 2)


def law_without_numbers(patch):
    def no_law(self, counts):
        return OutcomeLaw(np.arange(counts.shape[1]), np.full(counts.shape, np.nan))

    patch(GNMax, "outcome_law", no_law, raising=False)


def half_the_mu2(patch):
    charges = GaussianPricing._charges

    def halved(self, span, left):
        return {name: cost * 0.5 for name, cost in charges(self, span, left).items()}

    patch(GaussianPricing, "_charges", halved)


def turns_charged_half(patch):
    participation = RoundRobin.participation

    def half(self, n_rows):
        return {group: rows * 0.5 for group, rows in participation(self, n_rows).items()}

    patch(RoundRobin, "participation", half)


def a_row_seen_by_two_teachers(patch):
    shards = _partition._shards

    def overlapping(rows, teachers, n_teachers):
        parts = shards(rows, teachers, n_teachers)
        return [np.append(part, parts[at - 1]) for at, part in enumerate(parts)]

    patch(_partition, "_shards", overlapping)


def a_row_seen_twice_by_its_teacher(patch):
    shards = _partition._shards

    def repeated(rows, teachers, n_teachers):
        return [np.append(part, part[:1]) for part in shards(rows, teachers, n_teachers)]

    patch(_partition, "_shards", repeated)


def partition_by_a_sort_of_the_features(patch):
    of_table = PrivateRows.of_table

    def sorted_shards(table, target, people, levels, shards):
        order = np.argsort(np.asarray(table)[:, 0])
        return of_table(table, target, people, levels, np.array_split(order, len(shards)))

    patch(PrivateRows, "of_table", sorted_shards)


def a_parameter_that_is_not_told(patch):
    patch(GNMax, "describe", lambda self: {"mechanism": "GNMax"})


def known_votes_charged_more_than_any(patch):
    exact = NoisyMax.exact
    patch(NoisyMax, "exact", lambda self, state: 3 * exact(self, state))


def answers_beyond_the_budget(patch):
    release = PrivacyAccountant.release

    def generous(self, mechanism, counts, **options):
        outcome = release(self, mechanism, counts, **options)
        return np.concatenate([outcome, outcome])

    patch(PrivacyAccountant, "release", generous)


def a_refusal_that_is_recorded(patch):
    release = PrivacyAccountant.release

    def eager(self, mechanism, counts, **options):
        try:
            return release(self, mechanism, counts, **options)
        except BudgetExceededError:
            release(self, LaplaceProportions(scale=1e12), np.ones((1, 2)))
            raise

    patch(PrivacyAccountant, "release", eager)


def any_relation_will_do(patch):
    patch(_accountant, "check_mechanism", lambda mechanism, relation: None)


def a_ledger_that_forgets_an_entry(patch):
    entries = PrivacyAccountant.entries
    patch(PrivacyAccountant, "entries", lambda self: entries(self)[:2])


def a_budget_made_unseen(patch):
    fit = PrivateTeacherEnsemble.fit

    def helpful(self, *args, **data):
        if self.accountant is None:
            self.accountant = PrivacyAccountant(epsilon=50.0, delta=1e-5, order="renyi")
        return fit(self, *args, **data)

    patch(PrivateTeacherEnsemble, "fit", helpful)


def labels_from_somewhere_else(patch):
    predict_private = PrivateTeacherEnsemble.predict_private

    def obliging(self, X):
        try:
            return predict_private(self, X)
        except BudgetExceededError:
            return self.predict(X)

    patch(PrivateTeacherEnsemble, "predict_private", obliging)


def a_prediction_that_spends(patch):
    predict = PrivateTeacherEnsemble.predict

    def spending(self, X):
        self.predict_private(X[:1])
        return predict(self, X)

    patch(PrivateTeacherEnsemble, "predict", spending)


def a_public_attribute_of_private_labels(patch):
    fit = PrivateTeacherEnsemble.fit

    def telling(self, X, y, **data):
        fit(self, X, y, **data)
        self.first_label_ = y[0]
        return self

    patch(PrivateTeacherEnsemble, "fit", telling)


def a_student_that_carries_its_teachers(patch):
    to_student = PrivateTeacherEnsemble.to_student

    def laden(self):
        student = to_student(self)
        student._teachers = self._teachers
        return student

    patch(PrivateTeacherEnsemble, "to_student", laden)


def spend_recorded_after_return(patch):
    release = PrivacyAccountant.release
    waiting = []

    def eager(self, mechanism, counts, **options):
        for late in waiting:
            late()
        waiting[:] = [lambda: release(self, mechanism, counts, **options)]
        votes = mechanism.check_counts(counts)
        return mechanism.sample(votes, np.random.default_rng(0))

    patch(PrivacyAccountant, "release", eager)


def clone_with_a_copied_budget(patch):
    def copied(self):
        return PrivacyAccountant(
            self.epsilon, self.delta, unit=self.unit, relation=self.relation, order="renyi"
        )

    patch(PrivacyAccountant, "__sklearn_clone__", copied)


def generator_reseeded_per_release(patch):
    patch(_accountant, "noise_generator", lambda random_state: np.random.default_rng(0))


def generator_reseeded_per_block(patch):
    sample = GNMax.sample

    def blockwise(self, counts, rng):
        seed = int(rng.integers(2**32))
        blocks = [counts[start : start + 100] for start in range(0, len(counts), 100)]
        return np.concatenate(
            [sample(self, block, np.random.default_rng(seed)) for block in blocks]
        )

    patch(GNMax, "sample", blockwise)


def generator_reseeded_per_batch_of_labels(patch):
    noise = Randomness.noise
    patch(Randomness, "noise", lambda self, count: noise(self, 0))


def a_prefix_that_ends_because_of_an_unpaid_bit(patch):
    prefix = _limits._prefix
    # The run goes on while what rows *did* cost fits: that it ended tells how the next row fell.
    patch(
        _limits,
        "_prefix",
        lambda base, cost, most, limit, n_rows: prefix(base, cost, cost, limit, n_rows),
    )


def a_batch_charged_as_one_row(patch):
    def executed(self, outcome):
        return {"vote": (np.arange(len(outcome)) == 0).astype(float)}

    patch(GNMax, "executed", executed)


def cost_of_a_row_for_the_whole_release(patch):
    patch(RenyiCost, "sum", lambda self: self[0])


def cost_scaled_by_the_root_of_the_count(patch):
    times = RenyiCost.__mul__
    patch(RenyiCost, "__rmul__", lambda self, count: times(self, np.sqrt(count)))
