"""Examples of all mechanisms, on which the common checks, audits and golden files run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.mechanisms import (
    BestOfCounts,
    BinaryVoting,
    ConfidentGNMax,
    DirichletProportions,
    ExponentialTopK,
    GaussianProportions,
    GNMax,
    LaplacePriorProportions,
    LaplaceProportions,
    LimitedDomainTopK,
    NoisyCounts,
    NoisyMargin,
    PowersetVoting,
    RoundRobin,
    SkellamMax,
    StableTopK,
    TauVoting,
    VectorSum,
    count_ballots,
)
from secretballot.testing import MechanismExample, Neighbours

#: By the name of the mechanism's class, with what sets further examples of it apart.
EXAMPLES: dict[str, MechanismExample] = {}


def add(example: MechanismExample, *, name: str | None = None) -> None:
    """Add an example; AssertionError if its name is taken."""
    key = type(example.mechanism).__name__ if name is None else name
    assert key not in EXAMPLES, key
    EXAMPLES[key] = example


_VOTES = np.array([[9.0, 1.0, 0.0], [4.0, 3.0, 3.0], [0.0, 10.0, 0.0], [5.0, 5.0, 0.0]])
_MOVED_BALLOTS = tuple(
    np.array(pair, dtype=float)[:, None]
    for pair in (
        [[5, 5, 0], [6, 4, 0]],
        [[6, 4, 0], [7, 3, 0]],
        [[4, 3, 3], [3, 4, 3]],
        [[8, 1, 1], [9, 0, 1]],
        [[8, 12, 0], [7, 13, 0]],  # a gap of -4, the most telling at delta 0.01
    )
)

add(MechanismExample(mechanism=GNMax(sigma=1.5), counts=_VOTES, neighbours=_MOVED_BALLOTS))
add(
    MechanismExample(
        mechanism=ConfidentGNMax(sigma=1.5, sigma_threshold=3.0, threshold=6.0),
        counts=_VOTES,
        neighbours=_MOVED_BALLOTS,
    )
)

# Ballots on two labels, twenty of them; the most telling one changes its mind about both.
for _name, _mechanism, _tightness in (
    # Renyi curves of two labels, converted.
    ("BinaryVoting", BinaryVoting(sigma=2.5, n_votes=20), 0.6),
    # And of a label that is not always asked.
    (
        "BinaryVoting with a hierarchy",
        BinaryVoting(sigma=2.5, n_votes=20, threshold=11, sigma_threshold=4, hierarchy={1: 0}),
        0.5,
    ),
):
    add(
        MechanismExample(
            mechanism=_mechanism,
            counts=np.array([[20.0, 0.0], [12.0, 8.0], [16.0, 3.0]]),
            neighbours=tuple(
                np.array(pair, dtype=float)[:, None]
                for pair in ([[9, 9], [10, 10]], [[8, 8], [7, 7]])
            ),
            tightness=_tightness,
        ),
        name=_name,
    )


# Ballots on two labels: four sets, and none or all of which were voted for.
def _cast(*votes: tuple[int, ...]) -> NDArray[Any]:
    """Return ballots that name {}, {1}, {0} and {0, 1} so many times."""
    sets = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (len(votes), 1, 1))
    return count_ballots(sets, np.array(votes))


_MOVED_SETS = tuple(
    (_cast(one), _cast(other))
    for one, other in (
        ((5, 5, 0, 0), (6, 4, 0, 0)),
        ((6, 4, 0, 0), (7, 3, 0, 0)),
        ((4, 2, 2, 2), (3, 3, 2, 2)),
        ((8, 1, 1, 0), (8, 1, 0, 1)),
        ((8, 12, 0, 0), (7, 13, 0, 0)),
    )
)
for _name, _mechanism, _neighbours in (
    ("PowersetVoting", PowersetVoting(sigma=1.5, n_labels=2), _MOVED_SETS),
    (
        "PowersetVoting with a threshold",
        PowersetVoting(sigma=1.5, n_labels=2, threshold=6.0, sigma_threshold=3.0),
        _MOVED_SETS[1::3],  # the most telling ones
    ),
):
    add(
        MechanismExample(
            mechanism=_mechanism,
            counts=_cast((9, 1, 0, 0), (4, 3, 3, 0), (0, 0, 0, 10), (3, 3, 2, 2)),
            neighbours=_neighbours,
        ),
        name=_name,
    )

# Three labels; a ballot on all of them is replaced by one that has none.
for _name, _mechanism, _tightness in (
    # Renyi curves of two labels, converted, moved as far as any two ballots do.
    ("TauVoting", TauVoting(sigma=2.0, n_votes=20, tau=1.0), 0.5),
    # And two thresholds.
    (
        "TauVoting with a threshold",
        TauVoting(sigma=2.0, n_votes=20, tau=1.0, threshold=11, sigma_threshold=3.0),
        0.45,
    ),
):
    add(
        MechanismExample(
            mechanism=_mechanism,
            counts=np.array([[10.0, 0.0, 0.0], [10.0, 10.0, 2.0], [4.0, 10.0, 4.0]]),
            neighbours=tuple(
                np.array(pair, dtype=float)[:, None]
                for pair in ([[9, 5, 0], [10, 5, 0]], [[9, 9, 0], [10, 8, 0]])
            ),
            tightness=_tightness,
        ),
        name=_name,
    )

# Turns: a part that is there pays like the mechanism itself, one that sits out pays nothing.
_TURNS = RoundRobin(mechanism=GNMax(sigma=1.5), turns={"strict": (1, 2), "generous": (1, 1)})
add(
    MechanismExample(
        mechanism=_TURNS,
        counts=_VOTES,
        neighbours=(
            Neighbours(*_MOVED_BALLOTS[0], "generous"),
            Neighbours(*_MOVED_BALLOTS[-1], _TURNS.part("strict", 0)),
        ),
    )
)

# Right answers of candidates; at delta 0.01 the most telling one is far behind.
add(
    MechanismExample(
        mechanism=BestOfCounts(scale=2.0),
        counts=np.array([[9.0, 7.5, 3.0], [4.0, 4.0, 6.0], [0.0, 12.0, 1.0]]),
        neighbours=tuple(
            np.array(pair)[:, None]
            for pair in (
                [[5.5, 5.5, 1.0], [4.5, 4.5, 2.0]],
                [[6.0, 5.0, 5.0], [7.0, 4.0, 4.0]],
            )
        ),
    )
)

# Right answers alone, and the cells of a confusion matrix: somebody is in another one.
for _name, _counts, _pair, _tightness in (
    ("NoisyCounts", [[9.0], [4.0]], ([[4.0]], [[5.0]]), 0.7),
    # The audit has to find out in which direction they move.
    ("NoisyCounts of several", [[9.0, 1.0, 0.0, 3.0]], ([[5.0, 2.0]], [[4.0, 3.0]]), 0.6),
):
    add(
        MechanismExample(
            mechanism=NoisyCounts(sigma=0.7),
            counts=np.array(_counts),
            neighbours=(np.array(_pair),),
            tightness=_tightness,
        ),
        name=_name,
    )

# Integer noise: winners of three classes, of two, and all counts.
add(MechanismExample(mechanism=SkellamMax(variance=2.25), counts=_VOTES, neighbours=_MOVED_BALLOTS))
add(
    MechanismExample(
        mechanism=SkellamMax(variance=2.25),
        counts=_VOTES[:, :2],
        neighbours=tuple(pair[..., :2] for pair in _MOVED_BALLOTS[::4]),
    ),
    name="SkellamMax of two classes",
)
add(
    MechanismExample(
        mechanism=SkellamMax(variance=2.25, opens="counts"),
        counts=_VOTES,
        neighbours=(np.array([[[5.0, 2.0]], [[4.0, 3.0]]]),),
        tightness=0.6,  # the audit has to find out in which direction they move
    ),
    name="SkellamMax of counts",
)

# Sums of two numbers; the furthest person moves both.
add(
    MechanismExample(
        mechanism=VectorSum(sigma=1.5, norm=1.0),
        counts=np.array([[9.0, -1.0], [0.25, 3.0]]),
        neighbours=(np.array([[[5.0, 2.0]], [[5.0 + 2**0.5, 2.0 - 2**0.5]]]),),
        tightness=0.6,  # the audit has to find out in which direction they move
    )
)

# A number that one ballot changes by no more than 1.
add(
    MechanismExample(
        mechanism=NoisyMargin(sigma=0.7),
        counts=np.array([[9.0]]),
        neighbours=(np.array([[[4.0]], [[5.0]]]),),
    )
)

# The most telling bags: of two classes noise is drawn for one alone, and rare labels give
# themselves away. The Dirichlet draw has next to no Renyi curve: its (epsilon, delta) is audited.
_CHANGED_LABELS = tuple(
    np.array(pair, dtype=float)[:, None]
    for pair in ([[50, 50], [51, 49]], [[1, 0], [0, 1]], [[9, 1, 0], [8, 1, 1]])
)
for _proportions in (
    DirichletProportions.calibrated(epsilon=2.0, delta=0.009, pseudo_count=0.5),
    GaussianProportions(sigma=0.7),
    LaplaceProportions(scale=0.7),
    LaplacePriorProportions(scale=0.7),
):
    add(
        MechanismExample(mechanism=_proportions, counts=_VOTES, neighbours=_CHANGED_LABELS),
    )

# Sets of the largest of three counts. Where one person can change a set nothing is told but for its
# delta; so the most telling counts have gaps about as large as the tests ask for.
_ITEMS = np.array([[9.0, 5.0, 0.0], [6.0, 3.0, 4.0], [4.0, 4.0, 4.0], [11.0, 0.0, 3.0]])
for _name, _mechanism, _pairs, _tightness in (
    (
        "StableTopK",
        StableTopK(rho=0.5, delta_t=0.0005),
        ([[8, 12, 4], [9, 11, 3]], [[4, 4, 4], [5, 3, 5]], [[11, 9, 1], [12, 8, 2]]),
        0.7,
    ),
    (
        "StableTopK of two",
        StableTopK(rho=1.0, delta_t=0.0005, k=2),
        ([[5, 3, 3], [6, 2, 2]], [[6, 4, 3], [7, 3, 2]]),
        0.65,
    ),
    (
        "ExponentialTopK",
        ExponentialTopK(k=2, epsilon=1.0),
        ([[7, 5, 5], [8, 4, 4]], [[6, 3, 4], [7, 2, 3]]),
        0.7,
    ),
    (
        "LimitedDomainTopK",
        LimitedDomainTopK(k=2, k_max=2, epsilon=1.0, delta_t=0.0005, relation="add_remove"),
        ([[9, 9, 1], [8, 8, 1]], [[11, 10, 4], [11, 10, 3]]),
        0.7,
    ),
):
    add(
        MechanismExample(
            mechanism=_mechanism,
            counts=_ITEMS,
            neighbours=tuple(np.array(pair, dtype=float)[:, None] for pair in _pairs),
            tightness=_tightness,
        ),
        name=_name,
    )
