"""
PrivateTeacherEnsemble with owners: one person, many rows
=========================================================

A clinic keeps a row for every visit, and some people come often. If one *row* is protected,
somebody with thirty visits is promised far less than somebody with one. If the *owner* is, all
visits of a person count as one. You will see what each promises to whom, and what the better
promise costs.
"""

# %%
# :Private: about 24,000 visits of 3,000 patients: four measurements each, and whether the patient
#     had to come back. The data is made up.
# :Public: 200 other visits; and who is a patient (a list of numbers), but not what is known of
#     them.
# :Protected: once one visit, once everything that one patient contributed.
# :Budget: epsilon = 1, delta = 0.00001, spent on 200 labels.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one unit, a visit or a patient, can make
# anything that is released: by a factor of exp(epsilon), 2.7 here, except with a probability of
# about :term:`delta`.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble
from secretballot.measures import price_score

EPSILON, DELTA, N_PATIENTS = 1.0, 1e-5, 3_000
rng = np.random.default_rng(0)
n_visits = np.minimum(rng.geometric(1 / 8, N_PATIENTS), 40)
patient = np.repeat(np.arange(N_PATIENTS), n_visits)


def visits(of_patients):
    """Measurements and outcomes: what a patient is like shows in each of their visits."""
    X = rng.normal(size=(N_PATIENTS, 4))[of_patients] + 0.7 * rng.normal(size=(len(of_patients), 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=len(of_patients)) > 0
    return X, y.astype(int)


X, y = visits(patient)
X_public, _ = visits(np.arange(200))  # 200 others, and 3,000 more to judge with
X_test, y_test = visits(np.arange(3_000))
print(f"{len(y):,} visits; half of the patients came {np.median(n_visits):.0f} times or more")

# %%
# Two budgets, two promises
# -------------------------
# With ``unit="row"`` visits are dealt out to the teachers one by one: those of one patient go to
# many teachers, and may move many votes. With ``unit="owner"`` and ``owners=`` all visits of a
# patient go to one teacher, chosen by a keyed hash of the patient's number. Whatever a patient's
# rows are, and however many, one vote moves.


def fitted(unit, owners=None):
    """A student of private labels, with a budget for this unit."""
    ensemble = PrivateTeacherEnsemble(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        n_teachers=150,
        student=make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
        classes=[0, 1],
        accountant=PrivacyAccountant(EPSILON, DELTA, unit=unit),
    )
    return ensemble.fit(X, y, X_public=X_public, owners=owners)


by_visit = fitted("row")
by_patient = fitted("owner", owners=patient)
by_patient.accountant.statement()

# %%
# What the better promise costs
# -----------------------------
# The noise is the same: in each case one vote moves per unit. What may be lost is that a teacher
# has the visits of fewer patients, and that noisy counts of *people*
# (:func:`~secretballot.measures.score_private`) are of 3,000 patients and not of 24,000 visits, and
# cost more. The true outcomes of 3,000 made-up others judge.

noise = [each.mechanism_.sigma for each in (by_visit, by_patient)]
scores = [each.score(X_test, y_test) for each in (by_visit, by_patient)]
counts = [
    price_score(PrivacyAccountant(EPSILON, DELTA, unit=unit), n).share
    for unit, n in (("row", len(y)), ("owner", N_PATIENTS))
]
print(f"{'':34s}{'by visit':>10s}{'by patient':>12s}")
print(f"{'noise, in votes':34s}{noise[0]:10.1f}{noise[1]:12.1f}")
print(f"{'the student is right':34s}{scores[0]:10.1%}{scores[1]:12.1%}")
print(f"{'share of the budget for a score':34s}{counts[0]:10.1%}{counts[1]:12.1%}")

# %%
# What each promises to a person
# ------------------------------
# A budget counts *mu*: all that is released tells a world with a unit from one with another in its
# place no better than one number with normal noise of 1, moved by mu. Somebody with k visits, each
# of which is protected, may move it by k times mu. (That is the most that can be said in general;
# it assumes the worst, that all votes move and all the same way; the little delta that plans cost
# besides is left out.) Read as an epsilon for the whole person:


def epsilon_of(mu):
    """The epsilon at which a normal number, moved by mu, keeps delta."""

    def excess(epsilon):
        return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) - DELTA

    return brentq(excess, 0, 300)


mu = by_visit.accountant.spent().amount ** 0.5
times = np.arange(1, 41)
if_visits = [epsilon_of(k * mu) for k in times]
for k in (1, 5, 10, 40):
    print(f"{k:2d} visits: epsilon {if_visits[k - 1]:5.1f} by visit, {EPSILON:g} by patient")

# %%
# For the same noise and next to the same student, the promise to somebody with many visits is
# another one altogether: an epsilon of ten is hardly one. Where people have several rows, protect
# owners (:doc:`/guide/protected` says how to choose the unit).

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
figure, (below, ax) = plt.subplots(
    2, 1, figsize=(8, 5), sharex=True, height_ratios=[1, 2.6], layout="constrained"
)
ax.plot(times, if_visits, color=ORANGE, linewidth=2.5)
ax.axhline(EPSILON, color=BLUE, linewidth=2.5, linestyle="--")
ax.annotate(
    "each visit is protected",
    (17, if_visits[16]),
    (-12, 4),
    color=ORANGE,
    ha="right",
    textcoords="offset points",
)
ax.annotate(
    "each patient is protected",
    (39, EPSILON),
    (0, 6),
    color=BLUE,
    ha="right",
    textcoords="offset points",
)
ax.set(xlabel="visits of a person", ylabel="epsilon of that person", ylim=(0, None))
below.bar(*np.unique(n_visits, return_counts=True), color=GREY)
below.set(ylabel="patients")
for each in (ax, below):
    each.spines[["top", "right"]].set_visible(False)
figure.suptitle("Who comes often is promised little, unless the person is protected")
plt.show()
