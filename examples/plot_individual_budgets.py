"""
Individual budgets of a PrivateTeacherEnsemble
==============================================

Before anything was computed, each of 37,222 people ticked a box: *strict*, *medium* or *open*.
What is released must not give away more about anybody than the box they ticked allows. You will
see what each of them got, what they gave, and why the open ones are heard more.
"""

# %%
# :Private: the people's records (UCI Adult), and whether each earns more than 50,000 dollars.
# :Public: 600 other records, without the answer; and who ticked which box. That is why ticking a
#     box must not depend on the records. (Here it is drawn by lot.)
# :Protected: one person's record, each by the epsilon of their box.
# :Budget: epsilon = 0.5 for the strict, 1 for the medium, 2 for the open; delta = 0.00001. Spent
#     on 600 labels.
#
# :term:`Epsilon <epsilon>` says how many times likelier one person's record can make any answer,
# all answers together: exp(epsilon) times at most, except with a probability of about
# :term:`delta`.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, Weighting, load_adult

BOXES = {"strict": 0.5, "medium": 1.0, "open": 2.0}
adult = load_adult(complete_only=True)
order = np.random.default_rng(0).permutation(len(adult.target))
public, test, private = np.split(order, [600, 8_000])
X, y = adult.data, adult.target
ticked = np.random.default_rng(1).choice(list(BOXES), len(private), p=[0.3, 0.5, 0.2])

# %%
# How it works
# ------------
# 1. The records are divided among 250 small models, the :term:`teachers <teacher>`. A teacher has
#    records of people who ticked the same box.
# 2. For each public record the teachers vote on the answer. The votes of open people's teachers
#    weigh more than those of strict people's.
# 3. Noise is added to the votes, and only the winner is told. How much noise, and how heavy a
#    vote, decides how much one person's record can change what is told.
# 4. A new model, the :term:`student`, learns from the public records and the winners. It has never
#    seen a private record, and may be shown to anyone.
#
# Without step 2 the strict decide for all: nobody's privacy may be used up further than theirs.
# Both ways are computed here, to compare. Each spends a budget of its own, and what two budgets
# allow adds up: an office decides beforehand, and spends one. (The records of Adult are
# everybody's.)


def labelled(individualization):
    """Labels for the public records, and a student of them."""
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=4),
        n_teachers=250,
        student=RandomForestClassifier(min_samples_leaf=3),
        classes=[0, 1],
        individualization=individualization,
        accountant=PrivacyAccountant(BOXES, delta=1e-5),
    )
    return ensemble.fit(X[private], y[private], X_public=X[public], budgets=ticked)


all_alike = labelled(None)
as_chosen = labelled(Weighting())

# %%
# What the office signs
# ---------------------
# One promise for each box, and how much of it was used.

as_chosen.accountant.statement()

# %%
# What it was worth
# -----------------
# The true answers judge: of the 600 public records, and of 7,400 other people. Nothing was trained
# on them. The noise is real, so the figures vary by a percent or so.


def right(ensemble):
    """Share of the private labels that are right."""
    labels, answered = ensemble.pool_labels_
    return np.mean(labels[answered] == y[public][answered])


print(f"{'':36s}{'all alike':>12s}{'as chosen':>12s}")
noise = [ensemble.mechanism_.sigma for ensemble in (all_alike, as_chosen)]
print(f"{'noise, in votes':36s}{noise[0]:12.0f}{noise[1]:12.0f}")
print(f"{'private labels that are right':36s}{right(all_alike):12.1%}{right(as_chosen):12.1%}")
scores = [ensemble.score(X[test], y[test]) for ensemble in (all_alike, as_chosen)]
print(f"{'answers of the student':36s}{scores[0]:12.1%}{scores[1]:12.1%}")
print(f"{'always “no”':36s}{1 - y[test].mean():12.1%}{1 - y[test].mean():12.1%}")

# %%
# With weights, those who allowed more are heard more, the noise is less, and nobody pays with more
# than they allowed. It isn't promised that the answers are as right for everybody: people who give
# less are heard less. Compare the student's errors between groups, on public records, before it is
# used.

GREY, ORANGE, BLUE = "#d0d0d0", "#E69F00", "#0072B2"
figure, (ax, weights) = plt.subplots(
    1, 2, figsize=(9, 4.2), width_ratios=(2.2, 1), layout="constrained"
)
place = np.arange(len(BOXES))
ax.bar(place, list(BOXES.values()), 0.86, color=GREY, label="what they allowed")
for shift, ensemble, colour, name in (
    (-0.2, all_alike, ORANGE, "used if all count alike"),
    (0.2, as_chosen, BLUE, "used if votes weigh as people chose"),
):
    spent = ensemble.accountant.spent()
    ax.bar(place + shift, [spent[box].epsilon for box in BOXES], 0.36, color=colour, label=name)
ax.set_xticks(place, [f"{box}\n{np.sum(ticked == box):,} people" for box in BOXES])
ax.set(ylabel="epsilon: less is more private", title="what people allowed, and what was used")
ax.legend(loc="upper left")
weights.bar(place, [as_chosen.mechanism_.weight[box] for box in BOXES], 0.5, color=BLUE)
weights.axhline(1, color="black", linewidth=0.8, linestyle="--")
weights.set_xticks(place, list(BOXES))
weights.set(ylabel="what one vote weighs", title="who is heard more")
for each in (ax, weights):
    each.spines[["top", "right"]].set_visible(False)
figure.suptitle("Everybody gives what they allowed, and no more")
plt.show()

# %%
# Where to go on: :doc:`/topics/individual-budgets` has the other ways to let people differ, what
# each buys, and how errors shift between groups.
