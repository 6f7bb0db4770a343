"""Adversaries that choose what comes next by what came before: never above what plans cost."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

from secretballot.accounting import price_plan
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import GNMax

FAILURE = 1e-4


@cache
def cost(n_rows, sigma):
    return price_plan(GNMax(sigma=sigma), n_rows, n_columns=2).gaussian_cost(FAILURE)


@cache
def refund(n_rows, sigma):
    return price_plan(GNMax(sigma=sigma), n_rows, n_columns=2).refund() if n_rows else 0.0


def moves(sigma, gaps):
    """Outcomes of a vote at some gaps: probability under P, and the loss it adds."""
    ratio = math.sqrt(2) / sigma
    found = []
    for gap in gaps:
        p, q = ndtr(gap), ndtr(gap - ratio)
        found.append(((p, math.log(p / q)), (1 - p, math.log((1 - p) / (1 - q)))))
    return found


def worth_of_pair(mu2, epsilon, loss):
    """The best test of N(0, 1) against N(mu, 1) after a loss: E max(0, 1 - e^(epsilon - l))."""
    if mu2 <= 0:
        return max(-math.expm1(epsilon - loss), 0.0)
    return float(gaussian_delta(math.sqrt(mu2), epsilon - loss))


def claimed(plans, epsilon, factor=1.0):
    mu2 = sum(float(cost(*plan).mu2) for plan in plans) * factor
    delta = FAILURE * len(plans) * factor
    return delta + (1 - delta) * float(gaussian_delta(math.sqrt(mu2), epsilon))


@pytest.mark.parametrize("plans", [((2, 2.0), (3, 3.0)), ((1, 1.5), (1, 2.0), (2, 2.5))])
def test_reservations_drawn_in_turn_and_settled_by_outcomes(plans):
    """Each row: which reservation to draw, at which gap, or to settle one and use what comes back.

    Every order is tried, and what comes back buys the strongest there is: a Gaussian pair. With
    half the price (planted) the claim is broken.
    """
    # The best gaps lie around a half of the shift, and further out.
    choices = [
        moves(sigma, math.sqrt(2) / sigma / 2 + np.array([-0.6, 0.0, 0.6])) for _, sigma in plans
    ]
    exceeded = False
    for epsilon in (0.3, 1.0, 2.0):

        @cache
        def worth(left, loss, epsilon=epsilon):
            # Settle everything, or nothing: what is left unused comes back at once.
            back = sum(refund(n, sigma) for n, (_, sigma) in zip(left, plans, strict=True))
            best = worth_of_pair(back, epsilon, loss)
            for index, n_left in enumerate(left):
                if n_left:
                    rest = (*left[:index], n_left - 1, *left[index + 1 :])
                    for outcomes in choices[index]:
                        best = max(
                            best,
                            sum(p * worth(rest, round(loss + more, 9)) for p, more in outcomes),
                        )
            return best

        exact = worth(tuple(n for n, _ in plans), 0.0)
        assert exact <= claimed(plans, epsilon)
        # And how near: the claim is no empty one, and half of it would be too little.
        assert exact > 0.6 * claimed(plans, epsilon)
        exceeded |= exact > claimed(plans, epsilon, factor=0.5)
    assert exceeded


def test_no_delta_comes_back_and_no_more_than_the_rule_says():
    """What remains of a plan is worth the refund at least, and nothing that has a delta."""
    n_rows, sigma = 5, 3.0
    rest = price_plan(GNMax(sigma=sigma), n_rows, n_columns=2)
    losses = np.linspace(0, 12, 300)
    worth = np.array([rest.delta(each) for each in losses])
    back = math.sqrt(rest.refund())
    assert np.all(gaussian_delta(back, losses) <= worth * (1 + 1e-7))
    assert np.any(gaussian_delta(1.03 * back, losses) > worth)
    # Were a ten-thousandth of the delta given back as well, it would be too much far out.
    assert np.any(FAILURE * 1e-4 + gaussian_delta(back, losses) > worth)


def test_parts_of_two_fits_add_up():
    """A person whose part sits in half the rows of each of two fits may sit in all of them."""
    half = cost(6, 3.0)
    once, twice = ((6, 3.0),), ((6, 3.0), (6, 3.0))
    step = moves(3.0, [math.sqrt(2) / 3.0 / 2])[0]
    (p, up), (q, down) = step
    for epsilon in (0.5, 1.5):
        exact = sum(
            math.comb(12, k)
            * p**k
            * q ** (12 - k)
            * max(-math.expm1(epsilon - k * up - (12 - k) * down), 0.0)
            for k in range(13)
        )
        assert exact <= claimed(twice, epsilon)
        # The dearest part of either fit alone, as if fits were the same people: too little.
        assert exact > claimed(once, epsilon)
    assert float(half.mu2) > 0
