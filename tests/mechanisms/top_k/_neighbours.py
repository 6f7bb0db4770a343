"""All neighbouring data sets of a few voters and items, and the laws of a mechanism on them."""

import itertools
from dataclasses import dataclass
from functools import lru_cache
from unittest.mock import patch

import numpy as np

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.costs._groups import EVERYONE, level_cost
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._orders import GAUSSIAN
from secretballot.costs._split_plan import has_game
from secretballot.testing._outcome_laws import outcome_law

#: Where curves are compared.
EPSILONS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0])


def ballots(n_items, max_items=None):
    """Return all sets of items that one voter can vote for."""
    every = np.array(list(itertools.product((0, 1), repeat=n_items)))
    return every if max_items is None else every[every.sum(axis=1) <= max_items]


#: Counts of voters who are always there, beside the few: gaps that the tests ask for.
ALWAYS = (0, 4, 7)


@lru_cache
def neighbours(
    n_items, n_voters, *, relation="replace", max_items=None, units=(1.0,), unit=None, copies=1
):
    """Return counts of all pairs of neighbouring data sets, shape (n_pairs, 2, n_items).

    Parameters
    ----------
    n_items, n_voters : int
    relation : {"replace", "add_remove"}
        Whether the last voter has another ballot, or is not there.
    max_items : int or None
        How many items a voter votes for at most.
    units : sequence of float
        What the other voters' votes count: they take turns.
    unit : float or None
        What the last voter's votes count; the first of `units` if None.
    copies : int
        How many such ballots the last voter has.

    Others may be there who all vote for the first item, or for the first two.
    """
    one = ballots(n_items, max_items)
    others = np.zeros((1, n_items))
    for voter in range(n_voters - 1):
        added = others[:, None] + units[voter % len(units)] * one
        others = np.unique(added.reshape(-1, n_items), axis=0)
    there = [[first, second] for first in ALWAYS for second in ALWAYS if second in (0, first)]
    always = np.pad(np.array(there, dtype=float), ((0, 0), (0, n_items - 2)))
    others = np.unique((others[:, None] + always).reshape(-1, n_items), axis=0)
    mine = np.unique([sum(each) for each in itertools.product(one, repeat=copies)], axis=0)
    if relation == "replace":
        moves = list(itertools.combinations(mine, 2))
    else:
        moves = [(each, 0 * each) for each in mine if each.any()]
    step = np.array(moves) * (units[0] if unit is None else unit)
    pairs = (others[:, None, None] + step).reshape(-1, 2 * n_items)
    return np.unique(pairs, axis=0).reshape(-1, 2, n_items)


@dataclass
class OutcomeLaws:
    """Laws of what a mechanism releases on each pair of neighbours, (n_pairs, n_outcomes)."""

    p: np.ndarray
    q: np.ndarray
    outcomes: np.ndarray

    def deltas(self, epsilons=EPSILONS):
        """Return the worst delta of all pairs, in both directions, at each epsilon."""
        return np.array([self.pair_deltas(epsilon).max() for epsilon in epsilons])

    def pair_deltas(self, epsilon):
        there = np.maximum(self.p - np.exp(epsilon) * self.q, 0).sum(axis=1)
        back = np.maximum(self.q - np.exp(epsilon) * self.p, 0).sum(axis=1)
        return np.maximum(there, back)

    def most_telling(self, n_each=2):
        """Return the few pairs of which some delta is among the largest."""
        chosen_pairs = {
            int(pair) for e in EPSILONS for pair in np.argsort(-self.pair_deltas(e))[:n_each]
        }
        chosen = sorted(chosen_pairs)
        return OutcomeLaws(self.p[chosen], self.q[chosen], self.outcomes)

    def two_rows(self, epsilons=EPSILONS):
        """Return the worst delta of two rows, the second chosen by the outcome of the first."""
        p, q = np.vstack([self.p, self.q]), np.vstack([self.q, self.p])

        def after(ratios):
            gains = [
                np.maximum(a - ratios[..., None] * b, 0).sum(axis=-1)
                for a, b in zip(p, q, strict=True)
            ]
            return np.max(gains, axis=0)

        worst = []
        for epsilon in epsilons:
            possible = p > 0
            ratios = np.exp(epsilon) * q / np.where(possible, p, 1.0)
            worst.append((p * np.where(possible, after(ratios), 0.0)).sum(axis=1).max())
        return np.array(worst)


def outcome_laws(mechanism, pairs):
    """Compute the laws of a mechanism on pairs of neighbours.

    Where items come from the data, those that nobody has are not there.
    """
    counts, place = np.unique(pairs.reshape(-1, pairs.shape[-1]), axis=0, return_inverse=True)
    n_items = counts.shape[1]
    laws = np.zeros((len(counts), 2**n_items + 1))
    there = counts > 0 if mechanism.unknown_domain else np.ones_like(counts, dtype=bool)
    for columns in np.unique(there, axis=0):
        rows = (there == columns).all(axis=1)
        bits = 1 << np.flatnonzero(columns)
        if not columns.any():  # an item that nobody has, and that has no name
            columns, bits = np.arange(n_items) == 0, np.array([0])
        outcomes, log_p = outcome_law(mechanism, counts[np.ix_(rows, columns)])
        codes = np.where(outcomes[:, 0] < 0, 2**n_items, np.maximum(outcomes, 0) @ bits)
        for code, each in zip(codes, np.exp(log_p).T, strict=True):
            laws[rows, code] += each
    names = np.arange(2**n_items)[:, None] >> np.arange(n_items) & 1
    laws = laws[place.ravel()].reshape(len(pairs), 2, -1)
    return OutcomeLaws(laws[:, 0], laws[:, 1], np.vstack([names, np.full(n_items, -1)]))


def claimed(mechanism, n_columns, group=EVERYONE):
    """Compute the claims for one row and for two: delta at each epsilon, (n_epsilons,).

    By its price as a plan, if it has one; what a row is charged in a Gaussian budget; and what it
    is charged in Renyi divergences, each epsilon at its own delta.
    """
    (law,) = (law for name, law in mechanism.laws(n_columns).items() if name == group)
    claims = {}
    if has_game(law):
        for n_rows in (1, 2):
            price = price_plan(mechanism, n_rows, n_columns=n_columns)
            price = price[group] if isinstance(price, dict) else price
            claims[f"the price of {n_rows}"] = np.array([price.delta(e) for e in EPSILONS])
    cost = mechanism.max_cost(n_columns)[group]
    claims["Renyi"] = delta_of_curve(cost)
    levels = [name for name in mechanism.laws(n_columns) if name != EVERYONE]
    # Enumerated laws have deltas that no budget of people's data may have.
    with patch("secretballot.ledger._budget._MOST_DELTA", 0.5):
        accountant = PrivacyAccountant(
            epsilon=dict.fromkeys(levels, 60.0) if levels else 60.0,
            delta=0.5,
            approximation_delta=0.49,
            relation=mechanism.relation,
        )
    accountant.reserve(mechanism, 1, n_columns=n_columns)
    level = (levels and group) or accountant.levels[0].name
    cost = level_cost(accountant.entries()[-1].charges, level, GAUSSIAN)
    failure = float(cost.delta)
    normal = gaussian_delta(float(cost.at(GAUSSIAN)) ** 0.5, EPSILONS)
    claims["a Gaussian budget"] = failure + (1 - failure) * normal
    return claims


def delta_of_curve(cost):
    """Return the delta that a Renyi curve proves at each epsilon, beside its own."""
    deltas = np.geomspace(1e-6, 0.9, 60)
    epsilons = np.array([cost.epsilon(float(cost.delta) + delta) for delta in deltas])
    place = np.minimum(np.searchsorted(-epsilons, -EPSILONS), len(deltas) - 1)
    return np.where(epsilons.min() <= EPSILONS, float(cost.delta) + deltas[place], 1.0)


def shares(mechanism, pairs, group=EVERYONE):
    """Compute the largest share of each claim that some neighbours reach, at each epsilon."""
    seen = outcome_laws(mechanism, pairs)
    one, two = seen.deltas(), seen.most_telling().two_rows()
    largest_shares = {}
    for name, claim in claimed(mechanism, pairs.shape[-1], group).items():
        truth = two if name.endswith("2") else one
        # Probabilities are rounded: of less than this nothing is known.
        largest_shares[name] = np.maximum(truth - 1e-14, 0) / np.maximum(claim, 1e-300)
    return largest_shares


def share_of_price(mechanism, pairs):
    """Compute the largest share of the price of one row that a pair reaches, at each epsilon."""
    price = price_plan(mechanism, 1, n_columns=pairs.shape[-1])
    claim = np.array([price.delta(epsilon) for epsilon in EPSILONS])
    return np.maximum(outcome_laws(mechanism, pairs).deltas() - 1e-14, 0) / np.maximum(
        claim, 1e-300
    )


def faults(largest_shares):
    """List the claims that are too small."""
    return [name for name, share in largest_shares.items() if (share > 1 + 1e-9).any()]
