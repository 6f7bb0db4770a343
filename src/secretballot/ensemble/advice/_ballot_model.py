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

#: Limits on the number of simulated rows, and on the labels of all ballots together.
_MAX_ROWS, _MIN_ROWS, _MAX_CELLS = 256, 16, 20_000_000
_SEED = 0


@dataclass(frozen=True, kw_only=True)
class BallotModel:
    """Probit model of ballots, in which teachers share the difficulty of a label in a row.

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
        """Simulate ballots with a fixed seed, and count them in several ways."""
        rng = np.random.default_rng(_SEED)
        cells = self.n_teachers * self.n_labels
        n_rows = min(max(_MAX_CELLS // cells, _MIN_ROWS), _MAX_ROWS)
        present = np.arange(self.n_labels) < self.n_positives
        shared = ndtri(np.where(present, self.recall, self.specificity))
        shared = shared + math.sqrt(self.shared_errors) * self._correlated(
            _stratified(n_rows, 1, rng), _stratified(n_rows, self.n_labels, rng)
        )
        teacher_scale = math.sqrt(1 - self.shared_errors)
        shape = (n_rows, self.n_labels)
        votes: list[NDArray[Any]] = []
        for _ in range(self.n_teachers):
            errors = self._correlated(rng.standard_normal((n_rows, 1)), rng.standard_normal(shape))
            ballots = ((shared + teacher_scale * errors > 0) == present).astype(np.uint8)
            if not votes:
                votes = [counting.begin(ballots, self.n_teachers) for counting in countings]
            else:
                pairs = zip(countings, votes, strict=True)
                votes = [counting.add(earlier, ballots) for counting, earlier in pairs]
        weights = {"": np.ones(())}
        return [
            counting.total({"": total}, weights)
            for counting, total in zip(countings, votes, strict=True)
        ]

    def _correlated(self, of_row: NDArray[Any], of_label: NDArray[Any]) -> NDArray[Any]:
        """Mix normals of the row with normals of its labels, to correlated normals."""
        return math.sqrt(self.correlation) * of_row + math.sqrt(1 - self.correlation) * of_label


def _stratified(n_rows: int, n_columns: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw columns of normals with one value in every quantile, for a small variance of means."""
    quantiles = ndtri((np.arange(n_rows) + 0.5) / n_rows)
    return rng.permuted(np.tile(quantiles[:, None], n_columns), axis=0)
