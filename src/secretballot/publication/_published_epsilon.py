"""A data-dependent epsilon that may be published."""

from __future__ import annotations

from dataclasses import dataclass

from secretballot._views import Prose, Shown, View


@dataclass(frozen=True, kw_only=True)
class PublishedEpsilon(Shown):
    """An upper bound of what was lost, which may be published. Made by `publish_epsilon`.

    Attributes
    ----------
    epsilon, delta : float
        The bound, the publication itself included.
    failure : float
        With what probability the noise of the publication makes the bound too low.
    cap, cap_delta : float
        The guarantee over all data sets, which the budget keeps whatever is published.
    order : float
        The Renyi order at which the bound was converted.
    sigma : float
        Noise on the margin, in ballots.
    n_rows : int
        Rows whose own cost is bounded; what else was released counts as it was charged.
    """

    epsilon: float
    delta: float
    failure: float
    cap: float
    cap_delta: float
    order: float
    sigma: float
    n_rows: int

    def _view(self) -> View:
        told = (
            f"Whoever compares this data set with any that differs from it in one unit learns no "
            f"more from all that was released than this epsilon says, this number included. It is "
            f"an upper bound with probability {1 - self.failure:g}, of {self.n_rows} rows at what "
            "their votes did cost and of everything else as it was charged. For all data sets "
            f"together the guarantee is the budget: epsilon {self.cap:g} at delta "
            f"{self.cap_delta:g}."
        )
        figure = f"Epsilon {self.epsilon:.4g} at delta {self.delta:g}, for this data set."
        return View("PublishedEpsilon", (Prose.of(figure), Prose.of(told)))
