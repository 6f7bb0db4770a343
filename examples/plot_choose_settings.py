"""
recommend_teachers: choosing settings beforehand
================================================

How many teachers? How many public records? Trying it out on private records would
cost budget; :func:`~secretballot.ensemble.recommend_teachers` computes it from public numbers
alone. You will see its advice, and whether it was good.
"""

# %%
# :Private: 37,222 people's records (UCI Adult), and whether each earns more than 50,000 dollars.
# :Public: 400 other records; and the numbers that advice is asked with: how many records there
#     are, and the budget.
# :Protected: one person's record.
# :Budget: epsilon = 1, delta = 0.00001. Advice spends nothing: it sees no record.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one record can make anything that is released:
# by a factor of exp(epsilon) at most, 2.7 here, except with a probability of about :term:`delta`.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    load_adult,
    recommend_teachers,
)

# %%
# What noise leaves of a vote
# ---------------------------
# :term:`Teachers <teacher>` are small models, each trained on a part of the private records; they
# vote on the public ones, and noise is added to the votes. How much noise the budget asks for
# doesn't depend on how many teachers there are; how loud they are does. A majority *survives* if
# it still wins after the noise.

N_PRIVATE, N_PUBLIC = 37_222, 400
SIZES = [50, 100, 200, 400, 1_000, 2_000]
advice = recommend_teachers(
    n_private=N_PRIVATE, n_public=N_PUBLIC, epsilon=1.0, delta=1e-5, n_teachers=SIZES, n_rows=[]
)
advice

# %%
# It says which estimator to take, too. For a table like this one that is not teachers at all:
# :doc:`/examples/plot_teachers_or_regression`. Suppose the office wants teachers all the same,
# since next year there will be texts.
#
# Was that good advice?
# ---------------------
# More teachers are heard better, and know less each. The advice takes the number at which the two
# balance. To judge it, the office does here what it can't do in life: it spends a budget of
# epsilon = 1 on each number, and looks at true answers of 7,600 other people. It may, as the
# records of Adult are everybody's.

adult = load_adult(complete_only=True, one_hot=True)
order = np.random.default_rng(0).permutation(len(adult.target))
public, test, private = np.split(order, [N_PUBLIC, N_PUBLIC + 7_600])
X, y = adult.data, adult.target


def accuracy(n_teachers):
    """Of a student of private labels, on other people."""
    ensemble = PrivateTeacherEnsemble(
        make_pipeline(StandardScaler(), LogisticRegression(tol=0.01, max_iter=1_000)),
        n_teachers,
        student=make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
        classes=[0, 1],
        accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5),
    )
    ensemble.fit(X[private], y[private], X_public=X[public])
    return ensemble.score(X[test], y[test])


tried = sorted({100, 200, 1_000, advice.n_teachers})
scores = [accuracy(n_teachers) for n_teachers in tried]
for n_teachers, score in zip(tried, scores, strict=True):
    print(f"{n_teachers:5,} teachers: {score:.3f}")

# %%
# The picture
# -----------
# Left: how likely it is that a label survives, if 60 to 100 % of the teachers agree. Right: what
# students were worth. At the dashed line, the number that is advised, nearly all clear majorities
# survive; with fewer teachers noise drowns them. Beyond it each teacher knows less, and little is
# gained, if anything. The points on the right vary by a percent or so from run to run.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, layout="constrained")
sizes = [row.n_teachers for row in advice.rows]
for share, style in zip(advice.rows[0].survival, (":", "-.", "--", "-"), strict=True):
    survival = [row.survival[share] for row in advice.rows]
    axes[0].plot(sizes, survival, f"o{style}", markersize=4, label=f"{share:.0%} agree")
axes[0].axvline(advice.n_teachers, color="black", linewidth=0.8, linestyle="--")
axes[0].legend(title="if", fontsize="small")
axes[0].set(xscale="log", xlabel="teachers", ylabel="the majority survives the noise")
axes[0].set_title(f"noise of {advice.rows[0].sigma:.0f} votes")
axes[1].plot(tried, scores, "o-", color="#0072B2", linewidth=2)
axes[1].axvline(advice.n_teachers, color="black", linewidth=0.8, linestyle="--")
axes[1].axhline(1 - y[test].mean(), color="#666666", linestyle=":")
axes[1].annotate(
    "always “no”",
    (tried[-1], 1 - y[test].mean()),
    (0, 5),
    ha="right",
    textcoords="offset points",
    color="#666666",
)
axes[1].set(xlabel="teachers", ylabel="right about others", title="what students were worth")
axes[1].set_xticks(SIZES, [f"{size:,}" for size in SIZES])
axes[1].set_xticks([], minor=True)
figure.suptitle(f"{advice.n_teachers} teachers are advised, before anything is spent")
plt.show()

# %%
# Where to go on: :doc:`/guide/teachers` reads the table line by line, and says which student to
# take, and how to choose one by private records, for a price.
