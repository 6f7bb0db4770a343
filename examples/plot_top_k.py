"""
private_top_k: the busiest places of each day
=============================================

A phone company counts how many of its customers were at each of 5,000 places of a city, and
wants to say every day which were busiest. A market, a match, a quiet Sunday: how many are worth
a mention differs. You will see how the data itself says how many, for the same price as for one.
"""

# %%
# :Private: who was where. The counts are made up.
# :Public: the list of places.
# :Protected: one customer, with all places they were at in the week. One more customer may change
#     every count by one.
# :Budget: epsilon = 2, delta = 0.000001 for the week; each day has a seventh of it.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one customer's being there makes any set of
# places: by a factor of exp(epsilon) at most, except with a probability of about :term:`delta`.

import matplotlib.pyplot as plt
import numpy as np

from secretballot import PrivacyAccountant, private_top_k
from secretballot.mechanisms import ExponentialTopK, StableTopK

DAYS = {"Mon": 12, "Tue": 12, "Wed": 31, "Thu": 12, "Fri": 18, "Sat": 46, "Sun": 4}
N_PLACES, EPSILON, DELTA = 5_000, 2.0, 1e-6
names = [f"place {number:04d}" for number in range(N_PLACES)]

rng = np.random.default_rng(1)
usual = np.minimum(rng.gamma(0.5, 120.0, size=N_PLACES), 700)
visitors = {}
for day, n_busy in DAYS.items():  # so many places stand out
    expected = usual.copy()
    busy = rng.choice(N_PLACES, n_busy, replace=False)
    expected[busy] = rng.uniform(1_400, 4_000, n_busy)
    visitors[day] = dict(zip(names, rng.poisson(expected).tolist(), strict=True))

# %%
# The gap says how many
# ---------------------
# Sorted, the counts of a day have a cliff. Above it are the places that stand out. If the cliff is
# high enough, the set above it is the same whoever of the customers is missing, and can be told as
# it is. That has to be found out with noise, and costs the same for three places and for thirty.

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8c8c8c"
ordered = np.sort(list(visitors["Wed"].values()))[::-1][:60]
cliff = int(np.argmax(ordered[:-1] - ordered[1:])) + 1
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.bar(np.arange(1, 61), ordered, color=[ORANGE] * cliff + [GREY] * (60 - cliff))
ax.annotate(
    f"the largest gap:\n{ordered[cliff - 1] - ordered[cliff]:,} visitors",
    (cliff + 0.5, (ordered[cliff - 1] + ordered[cliff]) / 2),
    (cliff + 7, ordered[0] * 0.7),
    arrowprops={"arrowstyle": "->"},
)
ax.set(xlabel="places, the busiest first", ylabel="visitors on Wednesday")
ax.set_title("Where the counts fall off, the data says how many stand out")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# (This picture is for you who read it, and shows true counts: they are made up. The company would
# not publish it.)
#
# A week
# ------
# The :term:`accountant` is the budget: each day's release goes through it. Budgets add up as
# squares, about, so that seven days of .34 times epsilon fit. Half of delta is set aside for the
# chance that a set is told that one customer changes.

accountant = PrivacyAccountant(
    EPSILON, DELTA, unit="voter", relation="add_remove", approximation_delta=DELTA / 2
)
EACH = 0.34 * EPSILON
found = {
    day: private_top_k(counts, accountant=accountant, epsilon=EACH, k_max=100)
    for day, counts in visitors.items()
}
accountant

# %%
# The true counts judge (they are made up): how many of the places that are told are among those
# that stood out. On Sunday one place is so far ahead of the three others that the largest gap is
# below it: one is told. A day whose gap is too small would be told nothing, and pay all the same.

for day, one in found.items():
    top = sorted(visitors[day], key=visitors[day].get, reverse=True)[: DAYS[day]]
    told = set(one.items) if one.released else set()
    print(
        f"{day}: {DAYS[day]:2d} stood out; {len(told):2d} told, {len(told & set(top)):2d} rightly"
    )

# %%
# One after the other costs more
# ------------------------------
# The usual way draws the busiest place with noise, then the next, and so on, each for a part of the
# budget. The more there are, the wider the gap has to be for the set to come out right. Here are
# the gaps that either way needs to be right on nine days of ten, for a day's budget. Both are found
# by trying them out, on made-up counts: so many places are ahead of a hundred others by wider and
# wider gaps.

sizes = np.array([1, 2, 3, 5, 10, 20, 50, 100])


def drawn(k):
    """Draws of k places one after the other, with the least noise that a day's budget allows."""
    budget = PrivacyAccountant(EACH, DELTA / 7, unit="voter", relation="add_remove")
    return budget.calibrate(
        lambda noise: ExponentialTopK(k=k, epsilon=1 / noise, relation="add_remove"), 1
    )


day = PrivacyAccountant(
    EACH, DELTA / 7, unit="voter", relation="add_remove", approximation_delta=DELTA / 14
)
stable = day.calibrate(
    lambda noise: StableTopK(
        rho=1 / noise**2, delta_t=DELTA / 28, k_max=100, relation="add_remove"
    ),
    1,
)


# A budget that is large enough to try it out on made-up counts. It promises nothing to anybody.
plenty = PrivacyAccountant(
    1e6, 0.1, unit="voter", relation="add_remove", approximation_delta=0.09, order="renyi"
)


def needed(mechanism, k):
    """The least gap, in tens, at which nine sets of ten are the k places that are ahead."""
    for gap in range(10, 1_000, 10):
        counts = np.full((400, k + 100), 100)
        counts[:, :k] += gap
        told = plenty.release(mechanism, counts)
        if np.mean(told[:, :k].all(axis=1) & (told.sum(axis=1) == k)) >= 0.9:
            return gap


one_by_one = [needed(drawn(k), k) for k in sizes]
at_once = [needed(stable, k) for k in sizes]

figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.plot(sizes, one_by_one, "s--", color=GREY, label="drawn one after the other")
ax.plot(sizes, at_once, "o-", color=BLUE, label="a stable set")
ax.set(
    xscale="log", ylim=(0, None), xlabel="places in the set", ylabel="visitors that the gap needs"
)
ax.set_xticks(sizes, [f"{size}" for size in sizes])
ax.set_xticks([], minor=True)
ax.set_title("A stable set costs the same, however many places are in it")
ax.legend()
plt.show()

# %%
# Up to some ten places drawing them one after the other needs the smaller gap; beyond, the stable
# set does, and it says itself how many there are. Where counts fall off smoothly there is no gap at
# all: draws, or a number (``k=``), are the way then.
#
# Where to go on: :doc:`/topics/topk` compares six ways on people's check-ins, and says what to do
# where the list of names is private too.
