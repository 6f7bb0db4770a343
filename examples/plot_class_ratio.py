"""
MMDClassRatioEstimator: learning from shares, without a diagnosis
=================================================================

Eight clinics publish which share of their patients has a malignant tumour, with noise, and no
diagnosis of anybody. That is enough to estimate the share in a new group, with an interval, and
even to tell for one patient. You will see how near that comes to the truth.
"""

# %%
# :Private: the diagnoses of 360 patients.
# :Public: what was measured of their tumours, and in which of eight clinics each of them was.
# :Protected: one patient's diagnosis.
# :Budget: epsilon = 1, delta = 0.00001, spent on eight shares.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one diagnosis can make what is published: by a
# factor of exp(epsilon) at most, 2.7 here, except with a probability of about :term:`delta`.
#
# The patients are real (the Wisconsin data, which comes with scikit-learn). The clinics are made
# up: who is where was drawn by diagnosis, so that shares differ from clinic to clinic. Such a
# simulation gives diagnoses away. In earnest, groups have to be formed by something else, such as
# place or month.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from secretballot import LabelProportionsClassifier, MMDClassRatioEstimator, publish_proportions
from secretballot.quantification import Bags, MisfitWarning

# Whether groups differ by more than their shares is tested, and one test of a hundred errs. These
# groups are drawn so that they don't.
warnings.simplefilter("ignore", MisfitWarning)
warnings.filterwarnings("ignore", "bags differ by more than their classes")

measured, benign = load_breast_cancer(return_X_y=True)
malignant = 1 - benign
# Sizes of cells can't be negative and are skewed: a fixed step, which learns nothing of anybody.
X = np.log(measured + 0.01)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
pools = [list(order[:400][malignant[order[:400]] == kind]) for kind in (0, 1)]
rows, clinic = [], np.repeat([f"clinic {letter}" for letter in "ABCDEFGH"], 45)
for n_malignant in (4, 7, 9, 14, 18, 22, 27, 34):
    for kind, n in ((0, 45 - n_malignant), (1, n_malignant)):
        rows += pools[kind][:n]
        del pools[kind][:n]
X_train, y_train = X[rows], malignant[rows]

# %%
# What is published
# -----------------
# :func:`~secretballot.quantification.publish_proportions` takes the noise that distorts least for
# these sizes and this budget.

bags = Bags.from_groups(X_train, y_train, groups=clinic)
published = publish_proportions(bags, classes=[0, 1], epsilon=1.0, delta=1e-5)
published

# %%
# The true shares are shown to judge; they are not published.

for name, shares in zip(np.unique(clinic), published.proportions, strict=True):
    true = y_train[clinic == name].mean()
    print(f"{name}: published {shares[1]:6.1%} malignant, in truth {true:6.1%}")

# %%
# The share in a new group
# ------------------------
# :class:`~secretballot.quantification.MMDClassRatioEstimator` works out what the average patient
# of each kind looks like, from how clinics with different shares differ; then it asks which
# mixture of the two a new group looks like. It knows how noisy the shares are, and says how sure
# it is.

estimator = MMDClassRatioEstimator(random_state=0).fit(bags.X, published)

others = order[400:]  # patients of no clinic
groups, truth = [], []
for n_malignant in np.linspace(0, 40, 13).round().astype(int):
    group = np.concatenate(
        [
            rng.choice(others[malignant[others] == kind], n)
            for kind, n in ((0, 40 - n_malignant), (1, n_malignant))
        ]
    )
    groups.append(X[group])
    truth.append(malignant[group].mean())
truth = np.array(truth)
found = estimator.predict_interval(groups, 0.9)
ratio, low, high = (each[:, 1] for each in (found.ratios, found.lower, found.upper))
print(f"off by {np.abs(ratio - truth).mean():.1%} on average")
print(f"{np.sum((low <= truth) & (truth <= high))} of {len(truth)} intervals hold the truth")

# %%
# One patient
# -----------
# :class:`~secretballot.quantification.LabelProportionsClassifier` learns to tell for a single
# patient, though it has never seen a diagnosis of one. The true diagnoses of 169 others judge.

classifier = LabelProportionsClassifier(random_state=0)
classifier.fit(X_train, bag_ids=clinic, proportions=published)
print(f"right about {classifier.score(X[others], malignant[others]):.0%} of other patients")
counted = np.array([classifier.predict(group).mean() for group in groups])

# %%
# Estimates follow the truth far beyond what any clinic had (the shaded shares), from eight noisy
# numbers. Nine intervals of ten hold it, about; the noise is drawn anew each time. To count the
# classifier's answers is near, too, where classes are as far apart as here, but it tends to fall
# short where a group is unlike those it learned from.

BLUE, ORANGE = "#0072B2", "#D55E00"
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.axvspan(4 / 45, 34 / 45, color="#eeeeee", label="shares that clinics had")
ax.plot([0, 1], [0, 1], color="#8c8c8c", linewidth=1, label="the truth")
ax.errorbar(
    truth,
    ratio,
    yerr=[np.maximum(ratio - low, 0), np.maximum(high - ratio, 0)],
    fmt="o",
    color=BLUE,
    capsize=3,
    label="estimate, and 90 % interval",
)
ax.plot(truth, counted, "x", color=ORANGE, label="answers for single patients, counted")
for axis in (ax.xaxis, ax.yaxis):
    axis.set_major_formatter("{x:.0%}")
ax.set(xlabel="malignant among 40 new patients, in truth", ylabel="estimated")
ax.set_title("Eight noisy shares tell how many of a new group are ill")
ax.legend(loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Where to go on: :doc:`/topics/proportions` (which noise, how many groups, single instances), and
# :doc:`/topics/class-ratios` (groups that differ by more than their classes, which is where such
# estimates go wrong).
