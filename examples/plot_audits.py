"""
Audits of mechanisms: catching noise that is too little
=======================================================

A guarantee is a proof and a program, and either can be wrong. An *audit* asks the outcomes: it
draws them many times over in two worlds that differ in one person, and looks for anything that
tells the two apart better than was promised. You will see it pass a sound vote, and catch one
with half the noise.
"""

# %%
# :Private: nothing. Audits are for made-up data: they draw as often as they like, and no budget
#     pays.
# :Public: everything on this page.
# :Protected: one of twenty voters. In one world they vote one way, in the other another way.
# :Claim: the winner of one vote costs :term:`epsilon` = 1 at :term:`delta` = 0.01. That is what is
#     put to the test. Epsilon bounds how much likelier one voter can make any outcome, by a factor
#     of exp(epsilon), plus delta. (Budgets have a far smaller delta. Nothing so rare shows in a
#     sample, and the same noise has to hold at any delta.)

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from secretballot import GNMax, PrivacyAccountant, PrivateTeacherEnsemble
from secretballot.testing import Neighbours, audit_epsilon

CLAIM, DELTA = 1.0, 1e-2
# The least noise with which the winner of one vote keeps the claim.
accountant = PrivacyAccountant(CLAIM, DELTA)
sound = accountant.calibrate(GNMax, 1, n_columns=2)
print(f"noise of {sound.sigma:.2f} votes")

# %%
# A sound vote
# ------------
# The two worlds differ in one of twenty ballots; several such pairs are tried. The audit's *lower
# bound* is an epsilon that the outcomes prove: the true one can't be smaller (it is wrong about
# that in at most one of a thousand million audits). If it is above the claim, the claim is false.

one_ballot_moved = [
    (np.array([[yes, 20.0 - yes]]), np.array([[yes - 1.0, 21.0 - yes]])) for yes in (10, 12, 14, 16)
]
SURE = 1 - 1e-9
audit_epsilon(sound, one_ballot_moved, delta=DELTA, claim=CLAIM, confidence=SURE)

# %%
# A wrong one
# -----------
# Somebody writes the vote anew. They take the noise for a variance, which leaves its root, 61 % of
# it here; or add it to one of the two counts only, which is worth 71 %; or halve it in a hurry.
# Nothing else about it looks different: the winners are even a little better. Here is a half:


def home_made(share):
    """A vote with this share of the noise that it should have."""

    def draw(counts, n_draws, rng):
        return (counts + rng.normal(scale=share * sound.sigma, size=(n_draws, 2))).argmax(axis=1)

    return draw


def audited(share):
    """Hold a vote with too little noise against the claim of the sound one."""
    return audit_epsilon(
        None, one_ballot_moved, delta=DELTA, claim=CLAIM, draw=home_made(share), confidence=SURE
    )


half = audited(0.5)
half

# %%
# ``check()`` raises where a claim is refuted, and says on which data: one line of a test.

try:
    half.check()
except AssertionError as error:
    print(error)

# %%
# From votes to the whole thing
# -----------------------------
# What users get is not a vote but an ensemble: partition, teachers, ballots, noise, ledger. It is
# audited end to end. Teachers are trained in two worlds that differ in one *row*, and what is
# drawn are the labels that users would get, with a budget for all draws, and a seed, by which the
# partition is the same in both worlds. (Such a budget protects nobody, and neither does noise with
# a seed: both warn.)

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)
other_X, other_y = X.copy(), y.copy()
other_X[7], other_y[7] = [0.0, 0.0], 1 - y[7]  # one row replaced
ensemble = PrivateTeacherEnsemble(
    DecisionTreeClassifier(), 6, mechanism=sound, classes=[0, 1], random_state=0
)
question = [[0.05, 0.0]]  # the public row that is asked about


def labels(data, n_draws, rng):
    """Labels of the public row from one fit: 0s and 1s."""
    accountant = PrivacyAccountant(epsilon=1e9, delta=1e-5, order="renyi")
    fitted = ensemble.set_params(accountant=accountant).fit(**data)
    return fitted.predict_private(np.tile(question, (n_draws, 1))).labels


warnings.simplefilter("ignore", UserWarning)
audit_epsilon(
    None,
    [Neighbours({"X": X, "y": y}, {"X": other_X, "y": other_y})],
    delta=DELTA,
    claim=CLAIM,
    draw=labels,
    n_draws=20_000,
    confidence=SURE,
)

# %%
# How little noise is caught
# --------------------------
# The line is the exact epsilon of a vote with a share of the noise, the worst over all ways to cast
# twenty ballots. (It has bends where another way becomes the worst. It may even fall with less
# noise: winners that hardly ever happen are forgiven by delta.) The points are what audits of
# 100,000 draws could prove. An audit refutes, and never proves: between about 70 % of the noise and
# all of it, this one sees nothing wrong, though the claim is false. The votes of this library are
# held against their claims by more draws, and exactly where all outcomes can be counted:
# :doc:`/theory/audit-table`.


ballots = [np.array([[yes, 20.0 - yes]]) for yes in range(21)]
all_moved = list(zip(ballots[1:], ballots, strict=False))


def exact(share):
    """Largest exact epsilon of a vote with this share of the noise, over all that can be cast."""
    less_noise = GNMax(sigma=share * sound.sigma)
    # Exact figures need no draws: as few as may be.
    audit = audit_epsilon(less_noise, all_moved, delta=DELTA, n_draws=4)
    return max(pair.exact for pair in audit.pairs)


BLUE, ORANGE = "#0072B2", "#D55E00"
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
shares = np.linspace(0.4, 1.1, 60)
ax.plot(shares, [exact(share) for share in shares], color="#8c8c8c", label="exactly")
tried = np.linspace(0.4, 1.1, 15)
bounds = np.array([audited(share).tightest.lower_bound for share in tried])
caught = bounds > CLAIM
ax.plot(tried[~caught], bounds[~caught], "o", color=BLUE, label="proven: nothing wrong is seen")
ax.plot(tried[caught], bounds[caught], "X", color=ORANGE, markersize=9, label="proven: caught")
ax.axhline(CLAIM, color="black", linestyle="--", linewidth=1)
ax.annotate("the claim", (1.1, CLAIM), (0, 5), textcoords="offset points", ha="right")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set(xlabel="noise that is really added, of what is claimed", ylabel="epsilon of one vote")
ax.set_title("With half of the noise an audit proves the claim wrong")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Where to go on: :doc:`/theory/audit` says how to audit a mechanism of your own, and what an audit
# can't do; :doc:`/guide/limits` what no audit looks for.
