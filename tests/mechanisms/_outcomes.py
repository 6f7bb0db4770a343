"""Charges of outcomes against their exact divergences over all replaced ballots."""

import itertools

import numpy as np
from tests.checks._promises import check_promise

from secretballot.testing import MechanismExample, Neighbours

#: One of each kind.
BUDGETS = ("gaussian", "renyi")

#: What is said where an outcome is charged too little.
UNDERCHARGED = "charged, each its own, covers what they reveal"


def all_sets(n_labels):
    return np.array(list(itertools.product((0, 1), repeat=n_labels)))


def check_charges(mechanism, votes, others):
    """At every order a, E_Q[(P/Q)^a e^{-(a-1) charged}] is at most 1, for P and Q either way round.

    For what is charged in the worst case, and for what is charged on the votes of either. `votes`
    and `others` are pairs of neighbours, row by row.
    """
    pairs = (Neighbours(votes, others),)
    example = MechanismExample(mechanism=mechanism, counts=votes, neighbours=pairs)
    check_promise("charges_pass_the_filter", example)
