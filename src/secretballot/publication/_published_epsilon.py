"""Published bound of the data-dependent epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from secretballot._views import Prose, Shown, View


@dataclass(frozen=True, kw_only=True)
class PublishedEpsilon(Shown):
    """Upper bound of the privacy loss on the actual data, made by `publish_epsilon`.

    Attributes
    ----------
    epsilon, delta : float
        The bound, the publication itself included.
    failure : float
        Probability that the noise of the publication makes the bound too low.
    cap, cap_delta : float
        The budget: the guarantee over all data sets.
    order : float
        Renyi order at which the bound was converted.
    sigma : float
        Noise on the margin, in ballots.
    n_rows : int
        Rows whose data-dependent cost is bounded; other releases count as they were charged.
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
        meaning = (
            "The epsilon bounds the privacy loss between this data set and any that differs from "
            "it in one unit, from all releases, this number included. It is an upper bound with "
            f"probability {1 - self.failure:g}: {self.n_rows} rows count at the cost of their "
            "votes, other releases as they were charged. The guarantee over all data sets is the "
            f"budget: epsilon {self.cap:g} at delta {self.cap_delta:g}."
        )
        figure = f"Epsilon {self.epsilon:.4g} at delta {self.delta:g}, for this data set."
        return View("PublishedEpsilon", (Prose.of(figure), Prose.of(meaning)))
