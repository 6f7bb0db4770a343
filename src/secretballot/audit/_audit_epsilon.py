"""Audit of a claimed epsilon: outcomes drawn on a family of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from secretballot._numbers import check_number
from secretballot._progress import tracked
from secretballot.accounting import RenyiCost
from secretballot.audit._audit_draws import Draw, mechanism_draws
from secretballot.audit._audit_report import Audit, PairAudit
from secretballot.audit._exact import compose_rows, exact_divergence, exact_epsilon
from secretballot.audit._lower_bound import Statistics, check_probabilities, epsilon_lower_bound
from secretballot.audit._neighbours import Neighbours, as_neighbours, claimed_cost
from secretballot.audit._outcome_law import OutcomeLaw
from secretballot.audit._outcome_law import outcome_law as law_of_mechanism

if TYPE_CHECKING:
    from secretballot.mechanisms import Mechanism

#: ``outcome_law(data)``: the law of the rows' outcomes, None if it is unknown.
OutcomeLaws: TypeAlias = Callable[[Any], OutcomeLaw | None]


def audit_epsilon(
    mechanism: Mechanism | None,
    neighbours: Iterable[Neighbours | tuple[Any, Any]],
    delta: float,
    *,
    claim: float | Mapping[str, float] | None = None,
    draw: Draw | None = None,
    outcome_law: OutcomeLaws | None = None,
    n_draws: int = 100_000,
    confidence: float = 0.999,
    events: Statistics | None = None,
    random_state: int | np.random.SeedSequence | None = None,
) -> Audit:
    """Compare a claimed epsilon with outcomes drawn on neighbouring data sets.

    An event that separates two neighbours is searched on one half of their draws and measured on
    the other. Where all outcomes of a mechanism can be enumerated, its exact epsilon and its exact
    Renyi curve are compared with the claim too.

    Parameters
    ----------
    mechanism : mechanism or None
        The mechanism that claims an epsilon. None if `draw` and `claim` are given.
    neighbours : iterable of Neighbours or of pairs (data, neighbour)
        Neighbouring data sets on which the outcomes differ most. Use made-up data: an audit draws
        from the mechanism without paying, and its report would reveal private data.
    delta : float
        The delta of the claim.
    claim : float or dict of str to float, default=None
        Claimed epsilon, for all or by group. None: the most that the mechanism charges, converted
        at `delta`.
    draw : callable, default=None
        ``draw(data, n_draws, rng)`` returns independent outcomes on `data`, shape (n_draws, ...).
        None: the mechanism's own `sample`.
    outcome_law : callable, default=None
        ``outcome_law(data)`` returns the `OutcomeLaw` of the data's rows, or None. By default
        that of the mechanism, unless `draw` is given.
    n_draws : int, default=100_000
        Draws on each data set.
    confidence : float, default=0.999
        Probability with which none of the bounds is above the true epsilon.
    events : callable, default=None
        Statistics of outcomes whose level sets are the events, as in `epsilon_lower_bound`.
    random_state : int, SeedSequence or None, default=None

    Returns
    -------
    Audit
        Its `check` raises if the claim is refuted.

    Raises
    ------
    ValueError
        If there is nothing to draw from, no claim for some pair or no neighbours.

    Notes
    -----
    Each of k pairs is audited at confidence 1 - (1 - confidence)/k. An audit can refute a claim; it
    can't prove one: it knows only the neighbours and the events that it was given.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.audit import audit_epsilon
    >>> from secretballot.mechanisms import GNMax
    >>> one_ballot_moved = [
    ...     (np.array([[3.0, 7.0]]), np.array([[2.0, 8.0]])),
    ...     (np.array([[5.0, 5.0]]), np.array([[4.0, 6.0]])),
    ... ]
    >>> audit = audit_epsilon(GNMax(sigma=1.5), one_ballot_moved, delta=1e-2, random_state=0)
    >>> audit.holds, audit.share > 0.7
    (True, True)

    The same claim for a mechanism with half the noise:

    >>> def half_the_noise(data, n_draws, rng):
    ...     noise = rng.normal(scale=0.75, size=(n_draws, 2))
    ...     return (data + noise).argmax(axis=1)
    >>> audit_epsilon(
    ...     None, one_ballot_moved, delta=1e-2, claim=2.16, draw=half_the_noise, random_state=0
    ... ).holds
    False
    """
    check_probabilities(delta, confidence)
    if mechanism is not None and draw is None:
        draw = mechanism_draws(mechanism)
        outcome_law = partial(law_of_mechanism, mechanism) if outcome_law is None else outcome_law
    if draw is None or (mechanism is None and claim is None):
        raise ValueError("mechanism=None leaves nothing to audit; give draw= and claim=.")
    pairs = [as_neighbours(pair) for pair in neighbours]
    if not pairs:
        raise ValueError("neighbours is empty; give at least one pair of neighbouring data sets.")
    audits = []
    seeds = _seed_sequence(random_state).spawn(len(pairs))
    for pair, seed in tracked(zip(pairs, seeds, strict=True), "pairs of neighbours", len(pairs)):
        curve, epsilon = _claim(mechanism, pair, delta, claim)
        rngs = map(np.random.default_rng, seed.spawn(2))
        outcomes, neighbour_outcomes = (
            np.asarray(draw(data, n_draws, rng)) for data, rng in zip(pair[:2], rngs, strict=True)
        )
        bound = epsilon_lower_bound(
            outcomes,
            neighbour_outcomes,
            delta,
            confidence=1 - (1 - confidence) / len(pairs),
            events=events,
        )
        exact, share = _exact(outcome_law, pair, delta, curve)
        audits.append(
            PairAudit(
                neighbours=pair, claim=epsilon, lower_bound=bound, exact=exact, renyi_share=share
            )
        )
    return Audit(pairs=tuple(audits), delta=delta, confidence=confidence, n_draws=n_draws)


def _seed_sequence(random_state: int | np.random.SeedSequence | None) -> np.random.SeedSequence:
    """Build a seed sequence that spawns the same seeds at every call."""
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.SeedSequence(random_state.generate_state(4).tolist())
    return np.random.SeedSequence(random_state)


def _claim(
    mechanism: Mechanism | None,
    pair: Neighbours,
    delta: float,
    claim: float | Mapping[str, float] | None,
) -> tuple[RenyiCost | None, float]:
    """Compute the claimed curve, if a mechanism claims one, and the claimed epsilon."""
    if claim is not None:
        by_group = isinstance(claim, Mapping)
        epsilon = claim.get(pair.group) if isinstance(claim, Mapping) else claim
        check_number(f"claim[{pair.group!r}]" if by_group else "claim", epsilon, least=0)
        return None, float(epsilon)  # type: ignore[arg-type]
    assert mechanism is not None
    counts = np.asarray(pair.data)
    n_columns = counts.shape[1] if counts.ndim > 1 else None
    curve = claimed_cost(mechanism, n_rows=len(counts), n_columns=n_columns, group=pair.group)
    return curve, float(curve.epsilon(delta))


def _exact(
    outcome_law: OutcomeLaws | None, pair: Neighbours, delta: float, curve: RenyiCost | None
) -> tuple[float | None, float | None]:
    """Compute the exact epsilon of a pair, and its exact share of the claimed curve."""
    laws = [outcome_law(data) if outcome_law else None for data in pair[:2]]
    log_p, log_q = (None if law is None else compose_rows(law.log_probabilities) for law in laws)
    if log_p is None or log_q is None:
        return None, None
    share = None
    if curve is not None and not curve.delta.any():
        exact, claimed = exact_divergence(log_p, log_q).curve, curve.curve
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(exact == 0, 0.0, exact / claimed)
        share = float(shares[np.isfinite(claimed)].max(initial=0))
    return exact_epsilon(log_p, log_q, delta), share
