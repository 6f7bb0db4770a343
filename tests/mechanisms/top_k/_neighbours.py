"""All neighbouring data sets of a few voters and items, and what a mechanism tells of them."""

import itertools
from dataclasses import dataclass

import numpy as np

from secretballot.audit import outcome_law
from secretballot.divergences import EVERYONE

#: Where curves are compared.
EPSILONS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0])


def ballots(n_items, max_items=None):
    """Return all sets of items that one voter can vote for."""
    every = np.array(list(itertools.product((0, 1), repeat=n_items)))
    return every if max_items is None else every[every.sum(axis=1) <= max_items]


def neighbours(n_items, n_voters, *, relation="replace", max_items=None, units=(1.0,), unit=None):
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
    """
    one = ballots(n_items, max_items)
    others = np.zeros((1, n_items))
    for voter in range(n_voters - 1):
        added = others[:, None] + units[voter % len(units)] * one
        others = np.unique(added.reshape(-1, n_items), axis=0)
    if relation == "replace":
        moves = [(a, b) for a, b in itertools.combinations(one, 2)]
    else:
        moves = [(a, 0 * a) for a in one if a.any()]
    step = np.array(moves) * (units[0] if unit is None else unit)
    return (others[:, None, None] + step).reshape(-1, 2, n_items)


@dataclass
class Told:
    """Laws of what a mechanism releases on each pair of neighbours, (n_pairs, n_outcomes)."""

    p: np.ndarray
    q: np.ndarray
    outcomes: np.ndarray

    def deltas(self, epsilons=EPSILONS):
        """Return the worst delta of all pairs, in both directions, at each epsilon."""
        return np.array([self.of_pairs(epsilon).max() for epsilon in epsilons])

    def of_pairs(self, epsilon):
        there = np.maximum(self.p - np.exp(epsilon) * self.q, 0).sum(axis=1)
        back = np.maximum(self.q - np.exp(epsilon) * self.p, 0).sum(axis=1)
        return np.maximum(there, back)

    def most_telling(self, n_each=4):
        """Return the few pairs of which some delta is among the largest."""
        kept = {int(pair) for e in EPSILONS for pair in np.argsort(-self.of_pairs(e))[:n_each]}
        chosen = sorted(kept)
        return Told(self.p[chosen], self.q[chosen], self.outcomes)

    def two_rows(self, epsilons=EPSILONS):
        """Return the worst delta of two rows, the second chosen by the outcome of the first."""
        p, q = np.vstack([self.p, self.q]), np.vstack([self.q, self.p])

        def after(ratios):
            return np.max([np.maximum(a - ratios[..., None] * b, 0).sum(-1) for a, b in zip(p, q, strict=True)], axis=0)

        worst = []
        for epsilon in epsilons:
            possible = p > 0
            ratios = np.exp(epsilon) * q / np.where(possible, p, 1.0)
            worst.append((p * np.where(possible, after(ratios), 0.0)).sum(axis=1).max())
        return np.array(worst)


def told(mechanism, pairs):
    """Return what a mechanism tells of pairs of neighbours.

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
    return Told(laws[:, 0], laws[:, 1], np.vstack([names, np.full(n_items, -1)]))


def charged(mechanism, group=EVERYONE, n_columns=None):
    """Return what a row is charged at most in the currency of Renyi divergences."""
    return mechanism.max_cost(n_columns)[group]
