"""Size of a fit: its signal-to-noise ratio, bins and rounds, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secretballot.linear._model_size import choose_bins, choose_width, signal_to_noise
from secretballot.mechanisms._noisy_counts import VectorSum

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant
    from secretballot.ledger._budget import Scope
    from secretballot.linear._linear_model import LinearModel
    from secretballot.linear.rounds import Response


@dataclass(frozen=True)
class FitSize:
    """Size of a fit."""

    signal: float
    n_bins: int  # largest number of bins of a column
    n_rounds: int  # number of sums of residuals after the first
    kernel_width: float  # width of kernels; see `KernelFeatures`
    whole_fit: VectorSum  # mechanism of one release that would take all that the fit may spend

    @classmethod
    def choose(
        cls,
        model: LinearModel,
        accountant: PrivacyAccountant,
        scope: Scope,
        response: Response,
        *,
        weight: float | dict[str, float],
        total: float,
        n_columns: int,
        n_public: int,
    ) -> FitSize:
        """Choose the size of a fit, as far as the model's parameters leave it open."""
        whole_fit = accountant.calibrate(
            lambda sigma: VectorSum(sigma=sigma, diameter=2.0, weight=weight),
            n_rows=1,
            scope=scope,
        )
        signal = signal_to_noise(total, whole_fit.sigma, math.sqrt(n_columns))
        n_bins, n_rounds = model.n_bins, model.rounds
        if isinstance(n_bins, str):
            n_bins = choose_bins(signal, n_public, n_columns, response.n_columns)
        if isinstance(n_rounds, str):
            n_rounds = response.choose_rounds(signal, n_public)
        width = choose_width(signal_to_noise(total, whole_fit.sigma, 1.0), response.n_columns)
        return cls(signal, int(n_bins), int(n_rounds), width, whole_fit)
