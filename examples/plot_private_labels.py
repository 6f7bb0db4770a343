"""
PrivateTeacherEnsemble: private labels by a vote
================================================

A statistics office lets 37,222 people's records teach a program that anyone may have. It never
shows a record: small models vote on 400 public records, noise is added to the votes, and only
the winners are told. You will see the whole way, what it cost, and what the program is worth.
"""

# %%
# :Private: records of 37,222 people (age, work, schooling, marriage, hours, ...) and whether each
#     earns more than 50,000 dollars. They are from UCI Adult, the census data of 1994.
# :Public: 400 other records, without the answer. Nothing hides them.
# :Protected: one person's record, all of it. Whoever sees what is released can hardly tell whether
#     any one record was in the data, or another in its place.
# :Budget: epsilon = 1, delta = 0.00001, spent on 400 labels.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one person's record can make anything that is
# released: by a factor of exp(epsilon) at most, here 2.7, except with a probability of about
# :term:`delta`. Smaller is more private. :doc:`/examples/plot_what_epsilon_means` shows what an
# attacker can do with it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, load_adult

adult = load_adult(complete_only=True, one_hot=True)
# Who is where is drawn by lot. It depends on nothing that is in a record.
order = np.random.default_rng(0).permutation(len(adult.target))
public, test, private = np.split(order, [400, 8_000])
X_public, X_test, X_private = (adult.data[rows] for rows in (public, test, private))
y_public, y_test, y_private = (adult.target[rows] for rows in (public, test, private))

# %%
# One budget, one door
# --------------------
# The :term:`accountant` is the budget of the private records. Whatever leaves them goes through
# it, is written down first, and is refused when the budget is used up.

accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="row")
accountant

# %%
# Teachers vote, a student learns
# -------------------------------
# The private records are split among :term:`teachers <teacher>`: as many as
# :func:`~secretballot.ensemble.recommend_teachers` says, from public numbers alone. A person is
# with one teacher, and so moves one vote of a few hundred. Each teacher scales its own records; a
# scaler fitted on all of them, before the ensemble, would be outside the guarantee.
#
# A :term:`student` learns from the 400 public records and their winners. It is regularised, as
# noise made some of them wrong.

teacher = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
student = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
ensemble = PrivateTeacherEnsemble(
    teacher,
    n_teachers=None,  # as many as are advised
    student=student,
    classes=[0, 1],  # said beforehand, not learned from private records
    epsilon=accountant.epsilon_per_fit(share=0.9),  # a tenth of the budget is for a score
    accountant=accountant,
)
ensemble.fit(X_private, y_private, X_public=X_public)

# %%
# That was the release: 400 labels, for nine tenths of the budget.

print(
    f"{ensemble.n_teachers_} teachers have about {len(y_private) // ensemble.n_teachers_} records "
    f"each; the noise on the votes for an answer is about {ensemble.mechanism_.sigma:.0f} votes"
)

# %%
# How good the student is
# -----------------------
# The office has true answers of its private records, and none of others. It buys a score: the
# share of right answers on private records, with noise and an interval. This figure may be shown.

ensemble.score_private(X_private, y_private, share=0.05)

# %%
# What the office signs
# ---------------------
# The statement says what was promised, to whom, and what it was spent on. It holds nothing
# private.

accountant.statement()

# %%
# What it was worth
# -----------------
# The true answers of the public records, and of 7,600 further people, judge here. Nothing was
# trained or tuned on them, but for what is called "without privacy".

labels, answered = ensemble.pool_labels_
print(f"{np.mean(labels[answered] == y_public[answered]):.1%} of the private labels are right")


def accuracy(model, X, y):
    """Share of the 7,600 people for whom a model is right that was fitted on these records."""
    return clone(model).fit(X, y).score(X_test, y_test)


# Teachers are private; ten that are trained alike stand for them. The records of Adult are
# everybody's, so that this page may look.
lots = np.random.default_rng(1).permutation(len(y_private))
like_teachers = np.array_split(lots, ensemble.n_teachers_)[:10]
results = {
    "always “no”": 1 - y_test.mean(),
    "one teacher": np.mean([accuracy(teacher, X_private[i], y_private[i]) for i in like_teachers]),
    "the private student": ensemble.score(X_test, y_test),
    "without privacy: the 400 true answers": accuracy(student, X_public, y_public),
    "without privacy: all 37,222 people": accuracy(student, X_private, y_private),
}
for what, value in results.items():
    print(f"{what:40s}{value:.3f}")

# %%
# The private student is about as good as one that was told the 400 true answers: what noise took
# away from each label, the vote of many gave back. To learn from all people without any privacy
# would be worth one or two points more. (For a table like this,
# :class:`~secretballot.linear.PrivateLogisticRegression` gets nearer to that:
# :doc:`/examples/plot_teachers_or_regression`.)

GREY, BLUE = "#767676", "#0072B2"
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
names, values = list(results), np.array(list(results.values()))
colours = [BLUE if name == "the private student" else GREY for name in names]
ax.hlines(names, values[0], values, color=colours, linewidth=3)
ax.scatter(values, names, color=colours, s=90, zorder=3)
for name, value, colour in zip(names, values, colours, strict=True):
    ax.annotate(f"{value:.3f}", (value, name), (10, -4), textcoords="offset points", color=colour)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
ax.set(
    xlim=(values[0] - 0.005, values.max() + 0.015),
    xlabel="share of 7,600 other people it is right about",
)
figure.suptitle("A student of noisy votes is about as good as one of true answers")
plt.show()

# %%
# What may be shown
# -----------------
# ``ensemble.to_student()`` is the student and its guarantee: give it to anyone. The ensemble
# itself holds the teachers, which remember their records: it stays in the house.
#
# Where to go on: :doc:`/examples/plot_choose_settings` for how many teachers there should be,
# :doc:`/guide/publishing` for what may leave the house, and :doc:`/guide/for-me` for whether any of
# this is for you.

ensemble.to_student()
