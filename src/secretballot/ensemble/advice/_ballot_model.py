"""Model of the ballots of teachers on sets of labels, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from secretballot.mechanisms import Counting

#: Simulated rows, and labels of all of their ballots together.
_MOST_ROWS, _LEAST_ROWS, _MOST_CELLS = 256, 16, 20_000_000
_SEED = 0


@dataclass(frozen=True, kw_only=True)
class BallotModel:
    """Probit model of ballots: common to all teachers is how hard a label of a row is.

    Teacher t calls label j of row i correctly if m_j + sqrt(s) H_ij + sqrt(1 - s) E_itj > 0, with
    standard normals H (of the row) and E (of the teacher), s the `shared_errors`, and m_j such that
    the probability is `recall` of present labels and `specificity` of absent ones. The normals of
    two labels of a row have the correlation `correlation`. The first `n_positives` labels of each
    row are present.
    """

    n_teachers: int
    n_labels: int
    n_positives: int
    recall: float
    specificity: float
    shared_errors: float
    correlation: float

    def counts(self, countings: Sequence[Counting]) -> list[NDArray[Any]]:
        """Simulate ballots, always the same ones, and count them in several ways."""
        rng = np.random.default_rng(_SEED)
        cells = self.n_teachers * self.n_labels
        n_rows = min(max(_MOST_CELLS // cells, _LEAST_ROWS), _MOST_ROWS)
        present = np.arange(self.n_labels) < self.n_positives
        easy = ndtri(np.where(present, self.recall, self.specificity))
        easy = easy + math.sqrt(self.shared_errors) * self._together(
            _stratified(n_rows, 1, rng), _stratified(n_rows, self.n_labels, rng)
        )
        own = math.sqrt(1 - self.shared_errors)
        shape = (n_rows, self.n_labels)
        votes: list[NDArray[Any]] = []
        for _ in range(self.n_teachers):
            each = self._together(rng.standard_normal((n_rows, 1)), rng.standard_normal(shape))
            ballots = ((easy + own * each > 0) == present).astype(np.uint8)
            if not votes:
                votes = [counting.begin(ballots, self.n_teachers) for counting in countings]
            else:
                pairs = zip(countings, votes, strict=True)
                votes = [counting.add(cast, ballots) for counting, cast in pairs]
        one = {"": np.ones(())}
        return [
            counting.total({"": cast}, one) for counting, cast in zip(countings, votes, strict=True)
        ]

    def _together(self, of_row: NDArray[Any], of_label: NDArray[Any]) -> NDArray[Any]:
        """Add up normals that labels of a row share and those that are their own."""
        shared, own = math.sqrt(self.correlation), math.sqrt(1 - self.correlation)
        return shared * of_row + own * of_label


def _stratified(n_rows: int, n_columns: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw columns of normals that each have one value in every quantile: means vary less."""
    quantiles = ndtri((np.arange(n_rows) + 0.5) / n_rows)
    return rng.permuted(np.tile(quantiles[:, None], n_columns), axis=0)
