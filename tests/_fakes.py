"""Mechanisms whose costs are easy to add up, with answers that are known: they are not noisy."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from secretballot.accounting import EVERYONE, ORDERS, PrivacyAccountant, RenyiCost


def gaussian(rate):
    """Cost ``rate * order`` (infinite at infinity), per row if there are several rates."""
    return RenyiCost(ORDERS) * rate


@dataclass(frozen=True, kw_only=True)
class Fake:
    relations: ClassVar[frozenset[str]] = frozenset({"replace"})
    rows: ClassVar[str] = "sequential"

    def check_counts(self, counts):
        counts = np.asarray(counts, dtype=float)
        if counts.ndim != 2:
            raise ValueError(f"counts has shape {counts.shape}, not two dimensions.")
        return counts

    def sample(self, counts, rng):
        return counts.argmax(axis=1)

    def row_cost(self):
        """Cost of a row, per group."""
        raise NotImplementedError

    def max_cost(self, n_columns=None, counts=None, *, order=None):
        return self.row_cost()

    def participation(self, n_rows):
        return {}

    def cost(self, outcome, counts=None, *, n_columns=None):
        n_rows = len(outcome)
        return {
            group: RenyiCost(
                np.broadcast_to(cost.curve, (n_rows, len(ORDERS))),
                np.broadcast_to(cost.delta, n_rows),
            )
            for group, cost in self.row_cost().items()
        }

    def describe(self):
        return {"mechanism": type(self).__name__, **self.__dict__}


@dataclass(frozen=True, kw_only=True)
class Gaussian(Fake):
    """Every row costs the same."""

    sigma: float

    def row_cost(self):
        return {EVERYONE: gaussian(1 / self.sigma**2)}


@dataclass(frozen=True, kw_only=True)
class Noisy(Gaussian):
    """Really noisy, to tell streams apart."""

    def sample(self, counts, rng):
        return counts[:, 0] + rng.normal(scale=self.sigma, size=len(counts))


@dataclass(frozen=True, kw_only=True)
class Pure(Fake):
    """(epsilon, delta)-DP rows."""

    epsilon: float
    delta: float = 0.0

    def row_cost(self):
        return {EVERYONE: RenyiCost.from_epsilon_delta(self.epsilon, self.delta)}


@dataclass(frozen=True, kw_only=True)
class Thresholded(Fake):
    """Rows whose first count is positive are answered, and pay for a vote on top of the bit."""

    bit: float
    vote: float

    def sample(self, counts, rng):
        return np.where(counts[:, 0] > 0, counts.argmax(axis=1), -1)

    def max_cost(self, n_columns=None, counts=None, *, order=None):
        if counts is None:
            return {EVERYONE: gaussian(self.bit + self.vote)}
        return {EVERYONE: gaussian(np.full(len(counts), self.bit + self.vote))}

    def cost(self, outcome, counts=None, *, n_columns=None):
        rates = self.bit + np.where(outcome >= 0, self.vote, 0.0)
        return {EVERYONE: gaussian(rates)}


@dataclass(frozen=True, kw_only=True)
class Known(Fake):
    """Data dependent: a row costs its second count, if the counts may be looked at."""

    most: float

    def _of(self, counts):
        return {EVERYONE: gaussian(counts[:, 1])}

    def max_cost(self, n_columns=None, counts=None, *, order=None):
        return {EVERYONE: gaussian(self.most)} if counts is None else self._of(counts)

    def cost(self, outcome, counts=None, *, n_columns=None):
        if counts is None:
            return {EVERYONE: gaussian(np.full(len(outcome), self.most))}
        return self._of(counts)


@dataclass(frozen=True, kw_only=True)
class Parallel(Pure):
    """Rows of disjoint people; a row costs its outcome's share of epsilon."""

    rows: ClassVar[str] = "parallel"

    def sample(self, counts, rng):
        return counts[:, 0]

    def cost(self, outcome, counts=None, *, n_columns=None):
        return {EVERYONE: self.row_cost()[EVERYONE] * outcome}


@dataclass(frozen=True, kw_only=True)
class Grouped(Fake):
    """Costs per group, as given."""

    rates: dict[str, float]

    def row_cost(self):
        return {group: gaussian(rate) for group, rate in self.rates.items()}


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Fake):
    """Members 0 and 1 of a level are asked in turns; each pays for its own rows only."""

    level: str
    rate: float

    def max_cost(self, n_columns=None, counts=None, *, order=None):
        return {f"{self.level}/x/{member}": gaussian(self.rate) for member in (0, 1)}

    def cost(self, outcome, counts=None, *, n_columns=None):
        turn = np.arange(len(outcome)) % 2
        return {
            f"{self.level}/x/{member}": gaussian(self.rate * (turn == member)) for member in (0, 1)
        }


def votes(n_rows):
    """Counts of rows that a threshold lets pass."""
    return np.tile([3.0, 1.0], (n_rows, 1))


def basic_budget(path=None, epsilon=4.0):
    """A budget in which pure costs of a quarter add up exactly."""
    return PrivacyAccountant(epsilon, 1e-5, order=math.inf, ledger=path)


def calibrated(make, n_rows, *, epsilon, delta, n_columns=None, **options):
    """Calibrate noise to a whole budget."""
    accountant = PrivacyAccountant(epsilon, delta, **options)
    return accountant.calibrate(make, n_rows, n_columns=n_columns)


def spend(accountant, times=1, epsilon=0.25):
    for _ in range(times):
        accountant.release(Pure(epsilon=epsilon), votes(1))


def tamper(path, *statements):
    """Change a ledger as someone would who knows how: triggers are put back, its mark is gone."""
    if "://" in str(path):
        from tests.ledger._server import tamper_on_server

        tamper_on_server(path, *statements)
        return
    Path(f"{path}.mark").unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as opened:
        triggers = opened.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            opened.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *(sql for _, sql in triggers)):
            opened.execute(statement)
        opened.commit()
