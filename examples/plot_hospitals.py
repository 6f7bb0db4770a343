"""
Collaboration: hospitals that ask each other
============================================

Each of forty hospitals has measured a few patients' tumours. None may show its records to the
others, nor a model that was trained on them. Three have seen benign tumours only, so that their
own models can tell none. They ask the others to vote. You will see what they learn, and who pays
for it.
"""

# %%
# :Private: six patients of each hospital: what was measured of their tumours' cells, and which
#     were malignant. (The Wisconsin breast cancer data, which comes with scikit-learn, dealt out
#     by us.)
# :Public: 60 measurements that nobody has diagnosed yet: twenty for each hospital that asks. *All
#     who answer see them as they are*, so they have to be of people who agreed.
# :Protected: one patient of any hospital.
# :Budget: each hospital allows epsilon = 8 for its patients, delta = 0.00001, spent on the votes
#     it takes part in. That is much: forty ballots are few to hide one among. With more hospitals,
#     or fewer questions, less would do.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one patient can make anything that leaves the
# hospital: by a factor of exp(epsilon) at most, except with a probability of about :term:`delta`.
# At 8 that factor is nearly 3,000: it is a promise, but not a strong one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import GNMax, PrivacyAccountant
from secretballot.parties import Collaboration, Party

N_HOSPITALS, N_PATIENTS = 40, 6
N_ASKERS, N_ASKED = 3, 20

# %%
# Forty hospitals
# ---------------
# The first three have seen benign tumours only. Each trains a model at home, and has an
# :term:`accountant`: a budget of its own, which whatever leaves the hospital is written down in
# and paid from.

X, y = load_breast_cancer(return_X_y=True)  # 1 is benign
order = np.random.default_rng(0).permutation(len(X))
benign = order[y[order] == 1][: N_ASKERS * N_PATIENTS]
order = np.concatenate([benign, order[~np.isin(order, benign)]])
at_home, asked, rest = np.split(
    order, [N_HOSPITALS * N_PATIENTS, N_HOSPITALS * N_PATIENTS + N_ASKERS * N_ASKED]
)
hospitals = []
for number, rows in enumerate(at_home.reshape(N_HOSPITALS, N_PATIENTS)):
    hospital = Party(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        name=f"hospital {number}",
        accountant=PrivacyAccountant(epsilon=8.0, delta=1e-5),
        classes=[0, 1],
    )
    hospitals.append(hospital.fit(X[rows], y[rows]))

# %%
# To judge, there are some 270 patients of nobody, whose diagnoses are known. *Balanced accuracy*
# is the mean of two shares: of malignant tumours that are called so, and of benign ones. Who calls
# all of them benign has one half.


def quality(hospital):
    """Balanced accuracy on the patients of nobody."""
    return balanced_accuracy_score(y[rest], hospital.predict(X[rest]))


before = [quality(hospital) for hospital in hospitals]
print(f"the three that saw benign tumours only: {np.mean(before[:N_ASKERS]):.2f}")
print(f"the others: {np.mean(before[N_ASKERS:]):.2f}")

# %%
# They agree, and three ask
# -------------------------
# First all agree on the noise: the least at which sixty votes fit into 95 % of everybody's budget.
# What a vote can cost a hospital's patients is set aside in its own ledger before any ballot is
# cast; a hospital that asks doesn't vote on its own questions. Who asks sees the winner of each
# noisy vote, and no ballot. One program adds the votes up, and is trusted.

together = Collaboration(hospitals)
agreement = together.agree(GNMax, n_rows=N_ASKERS * N_ASKED, share=0.95)
names = [hospital.name for hospital in hospitals[:N_ASKERS]]
questions = dict(zip(names, asked.reshape(N_ASKERS, N_ASKED), strict=True))
answers = together.learn({name: X[rows] for name, rows in questions.items()}, agreement)
after = [quality(hospital) for hospital in hospitals]

for name, (answer,) in answers.items():
    right = np.mean(answer.labels == y[questions[name]])
    print(f"{name}: {len(answer.voters)} others voted, {right:.0%} of {N_ASKED} answers are right")

# %%
# Who spent what
# --------------
# The report names every hospital's spending.

print("\n".join(str(together.report()).splitlines()[:14]))

# %%
# What they learned
# -----------------
# The three go from nothing to about where the others are (some of whom happen to have seen one
# kind only, too). Answers are noisy, so a run may leave one of them behind; the noise is real and
# differs each time.

BLUE, GREY = "#0072B2", "#8c8c8c"
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
place = np.arange(N_HOSPITALS)
ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
ax.annotate(
    "calls all of them the same",
    (N_HOSPITALS - 1, 0.5),
    (0, 5),
    ha="right",
    color="#666666",
    textcoords="offset points",
)
ax.scatter(place, before, color=GREY, label="trained at home")
ax.scatter(
    place[:N_ASKERS],
    after[:N_ASKERS],
    color=BLUE,
    s=70,
    marker="D",
    label="after the others' answers",
)
for i in range(N_ASKERS):
    ax.annotate(
        "",
        (i, after[i] - 0.01),
        (i, before[i] + 0.01),
        arrowprops={"arrowstyle": "->", "color": BLUE, "linewidth": 1.5},
    )
ax.set(
    ylim=(0.45, 1.0),
    xlabel="hospital; the first three had seen benign tumours only",
    ylabel="balanced accuracy, on patients of nobody",
    title="Three hospitals learn what they had never seen",
)
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0.12))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Where to go on: :doc:`/topics/collaboration` says who learns what, how to do it across machines,
# and what was gained with fifty parties, and with ten.
