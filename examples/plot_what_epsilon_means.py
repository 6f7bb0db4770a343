"""
What epsilon means: an attack on a PrivateTeacherEnsemble
=========================================================

Somebody knows the answers of everyone in a poll but Anna's, and sees what was released. How sure
can they be of hers? The attack is carried out thousands of times, as well as it can be done,
without noise and at two epsilons. You will see how far it gets, and the line that no attack
passes.
"""

# %%
# :Private: what 101 people answered, yes or no, to an embarrassing question.
# :Public: the question, and 20 winners of a vote on the answers: "most said yes", or "no", with
#     new noise each time.
# :Protected: one person's answer.
# :Budget: epsilon = 1, then epsilon = 4, with delta = 0.00001; each spent on the 20 winners.
#
# :term:`Epsilon <epsilon>` bounds how much likelier Anna's answer can make anything that is
# released: by a factor of exp(epsilon) at most, except with a probability of about :term:`delta`.
# What that means is the matter of this page.
#
# The data is made up, and as bad for Anna as it can be: of the 100 others, 50 said yes and 50 said
# no. *Hers decides.* And the attacker knows all of this. Differential privacy is a promise against
# exactly that attacker, who knows everything but one person's row, and so against all who know
# less.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import GNMax, PrivacyAccountant, PrivateTeacherEnsemble

DELTA, N_QUESTIONS, N_REPEATS = 1e-5, 20, 6_000
others = np.arange(100) % 2
said_yes, said_no = np.append(others, 1), np.append(others, 0)
nothing_else = np.zeros((101, 1))  # a column of zeros: nothing but the answers is known

# %%
# Two worlds
# ----------
# In one world Anna said yes, in the other no. Each person is a teacher who has one row, their own,
# and votes as it says. Twenty winners are released in each world, again and again.
#
# The function draws what users of the ensemble would get, with a budget for all repetitions, and a
# seed, by which the partition is the same in both worlds. Budget and seed protect nobody, and warn.
# They are for data that is made up, or is everybody's, as all is on this page: a real office
# releases once.

warnings.simplefilter("ignore", UserWarning)


def worlds(ensemble, one, other, X_public):
    """What is released in each of two worlds, many times over: 0s and 1s, a row each time."""
    released = []
    for data in (one, other):
        accountant = PrivacyAccountant(epsilon=1e9, delta=DELTA, order="renyi")
        fitted = ensemble.set_params(accountant=accountant, random_state=0).fit(**data)
        answer = fitted.predict_private(np.tile(X_public, (N_REPEATS, 1)))
        released.append(answer.labels.reshape(N_REPEATS, -1))
    return released


def poll(sigma):
    """The poll, with so much noise on the votes."""
    voters = PrivateTeacherEnsemble(
        DummyClassifier(),  # says what its one row says
        n_teachers=101,
        mechanism=GNMax(sigma=sigma),
        classes=[0, 1],
    )
    yes, no = ({"X": nothing_else, "y": answers} for answers in (said_yes, said_no))
    return worlds(voters, yes, no, nothing_else[:N_QUESTIONS])


def noise_for(epsilon):
    """The noise with which twenty winners cost epsilon."""
    return PrivacyAccountant(epsilon, DELTA).calibrate(GNMax, N_QUESTIONS, n_columns=2).sigma


# %%
# Without noise there is nothing to guess: the winner is what Anna said, all twenty times. With it:

for epsilon in (1, 4):
    noise = noise_for(epsilon)
    yes, no = poll(noise)
    print(f"epsilon = {epsilon}, noise of {noise:.1f} votes:")
    print(f"    yes wins {yes.mean():.1%} of the time if she said yes, {no.mean():.1%} if not")

# %%
# The best attack
# ---------------
# No test beats the *likelihood ratio* (Neyman and Pearson): how much likelier is what was released
# in the one world than in the other? The attacker learns on one half of the repetitions how often
# each winner is yes in each world, and is judged on the other half. A threshold turns the ratio
# into "she said yes". Two shares say how good that is: how often it is right where she did (*true
# positives*), and how often it is wrong where she didn't (*false positives*). Every threshold is
# one point of a curve.


def attack(one, other):
    """False and true positive rates of the likelihood ratio test, over all thresholds."""
    half = N_REPEATS // 2
    # One repetition of each kind is imagined, so that no chance is 0 or 1.
    chances = [(world[:half].sum(axis=0) + 0.5) / (half + 1) for world in (one, other)]
    for_yes = np.log(chances[0] / chances[1])
    for_no = np.log((1 - chances[0]) / (1 - chances[1]))
    one, other = (world[half:] @ for_yes + (1 - world[half:]) @ for_no for world in (one, other))
    thresholds = np.append(np.unique(np.append(one, other)), np.inf)
    return [[np.mean(ratio >= t) for t in thresholds] for ratio in (other, one)]


# %%
# Somebody else
# -------------
# Anna's case is the worst there is. What of another one? 450 patients whose tumours were measured
# (the Wisconsin data, in scikit-learn) teach 50 small models, which vote on 20 other patients. One
# patient's record is replaced by another's, with the other diagnosis. The attacker knows all
# records but that one, and both that it could be. (A record moves one ballot of 50 on each
# question, or none. This is one pair of records; others move theirs on more of the 20, or fewer.)

X, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
patients, asked, (replacement, *_) = np.split(order, [450, 450 + N_QUESTIONS])
changed = patients.copy()
changed[np.flatnonzero(y[patients] != y[replacement])[0]] = replacement


def clinic(epsilon):
    """Twenty diagnoses by 50 models, with the one patient and with the other."""
    models = PrivateTeacherEnsemble(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        n_teachers=50,
        mechanism=GNMax(sigma=noise_for(epsilon)),
        classes=[0, 1],
    )
    one, other = ({"X": X[rows], "y": y[rows]} for rows in (patients, changed))
    return worlds(models, one, other, X[asked])


# %%
# The bound
# ---------
# (epsilon, delta) bounds *every* test, by whoever, with whatever knowledge: true positives are at
# most exp(epsilon) times the false ones, plus delta; and the same holds for the two kinds of "no".
# In the dark area no attack can be, whatever noise was used.
#
# The budget promises a little more. What it adds up is *mu*\ :sup:`2`: all releases together tell
# the two worlds apart no better than one number with normal noise that is shifted by mu standard
# deviations (but for a part of that delta). So no attack is in the light area either, and the one
# on Anna runs along its edge: the noise is as little as it may be. The patient's is much nearer to
# guessing. Both curves wobble by a percent or two, also across the edge, since they are counted
# over 3,000 repetitions; the bounds are not.

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
figure, axes = plt.subplots(1, 2, figsize=(9, 5), sharey=True, layout="constrained")
false = np.linspace(0, 1, 1001)
for ax, epsilon in zip(axes, (1, 4), strict=True):
    most = np.minimum(
        np.exp(epsilon) * false + DELTA, 1 - np.exp(-epsilon) * (1 - DELTA - false)
    ).clip(0, 1)
    mu = PrivacyAccountant(epsilon, DELTA).remaining().amount ** 0.5
    most_here = ndtr(ndtri(false) + mu)
    ax.fill_between(false, most, 1, color="#c4c4c4", label="no attack can be here")
    ax.fill_between(false, most_here, most, color="#ececec", label="nor here, by what is counted")
    ax.plot([0, 0, 1], [0, 1, 1], ":", color=GREY, linewidth=3, label="Anna, without noise")
    ax.plot(*attack(*poll(noise_for(epsilon))), color=ORANGE, linewidth=2.5, label="Anna")
    ax.plot(*attack(*clinic(epsilon)), "--", color=BLUE, linewidth=2, label="one patient of 450")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    ax.annotate("guessing", (0.72, 0.69), rotation=42, color=GREY, ha="center", va="top")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="wrongly called a yes",
        title=f"epsilon = {epsilon}",
    )
axes[0].set_ylabel("rightly called a yes")
axes[1].legend(loc="lower right", fontsize="small")
figure.suptitle("What the best attacker can know is bounded by epsilon")
plt.show()

# %%
# At epsilon = 1 an attacker to whom both answers were as likely beforehand can be right about Anna
# at most 73 times of 100 (the corner of the dark area); by what this budget counts, at most 55
# times, which is about what the attack reaches. A coin is right 50 times. At epsilon = 4 it is 98,
# 68, and about that again. All of it is for a person on whom everything turns, and that is whom the
# promise is for.
#
# Where to go on: :doc:`/guide/protected` has a table of what epsilon does to odds, and how to pick
# it; :doc:`/guide/limits` what it does not bound; :doc:`/theory/audit` how such attacks test a
# claim.
