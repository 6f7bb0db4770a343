"""
GridSearchCV of a PrivateTeacherEnsemble, paid for
==================================================

To choose a setting by how well it does on private records is to release something about them.
Here the budget pays for every fit and every score of a grid search; then comes a cheaper way,
which leaves nearly all of it for the model. You will see what each way spent its budget on.
"""

# %%
# :Private: 37,222 people's records (UCI Adult), and whether each earns more than 50,000 dollars.
# :Public: 400 other records, without the answer; and the list of settings that are tried.
# :Protected: one person's record.
# :Budget: epsilon = 2, delta = 0.00001, for each of the two ways. (To compare, this page spends
#     both. What they allow adds up: an office takes one.)
#
# :term:`Epsilon <epsilon>` bounds what one record can change: the likelihood of anything released
# by a factor of exp(epsilon) at most, save for :term:`delta`. :term:`Teachers <teacher>` are small
# models, each trained on a part of the private records, that vote on the public ones; a
# :term:`student` learns from the noisy winners.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, PublicData, load_adult
from secretballot.ensemble import PrivateChoice

adult = load_adult(complete_only=True)
order = np.random.default_rng(0).permutation(len(adult.target))
public, test, private = np.split(order, [400, 8_000])
X, y = adult.data[private], adult.target[private]
X_public = PublicData(adult.data[public])  # stays whole: a search would slice a bare array

# %%
# The search
# ----------
# Four numbers of teachers and two folds are eight fits, and the refit is the ninth. The budget is
# divided among them, less a tenth for scores:
# :meth:`~secretballot.accounting.PrivacyAccountant.epsilon_per_fit` says which epsilon each of them
# may have, and so the refit can't fail when the money is gone. (Their squares add up, about, not
# they themselves: it is .56, and not 2 / 9.)

accountant = PrivacyAccountant(epsilon=2.0, delta=1e-5)
grid = {"n_teachers": [150, 300, 600, 1_000]}
n_fits = len(ParameterGrid(grid)) * 2 + 1
epsilon = accountant.epsilon_per_fit(n_fits, share=0.9)
print(f"epsilon of each of {n_fits} fits: {epsilon:.3f}")

# %%
# ``price_fit`` says beforehand what they will cost:

teacher = DecisionTreeClassifier(max_depth=4)
forest = RandomForestClassifier(50, min_samples_leaf=5)
ensemble = PrivateTeacherEnsemble(
    teacher, student=forest, classes=[0, 1], epsilon=epsilon, accountant=accountant
)
ensemble.price_fit(len(y), X_public, n_fits=n_fits)

# %%
# The usual score of a search is computed on held-out private records and paid by nobody; the choice
# that is made by it is a leak. Each fit of a copy warns of that, as nobody knows what a tool does
# with private rows. This one is paid: ``score_private``
# counts right answers with noise, from the same budget (as does
# :func:`~secretballot.measures.score_private`, for other models).


def paid_score(estimator, X, y):
    """Accuracy on held-out private records, with noise. Spends."""
    return estimator.score_private(X, y, share=0.01).accuracy


warnings.filterwarnings("ignore", "a copy of the model was fitted")
search = GridSearchCV(ensemble, grid, cv=2, scoring=paid_score)
search.fit(X, y, X_public=X_public)
for setting, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{setting['n_teachers']:5,} teachers: about {score:.3f}")
final = search.best_estimator_
print(f"noise on the votes of the refit: {final.mechanism_.sigma:.0f}")

# %%
# Copies of the ensemble, also in other processes, spend from one ledger. Nine tenths of the budget
# went to search; the model that will be used had one of them.

accountant

# %%
# The cheaper way
# ---------------
# The number of teachers needs no search: by default it is what
# :func:`~secretballot.ensemble.recommend_teachers` says, from public numbers, for nothing. And
# students all learn from the *same* released labels, which are paid once. Only the choice among
# them is bought: :class:`~secretballot.ensemble.PrivateChoice` counts, with noise, how many private
# records each gets right, and tells which has most; for a twentieth of the budget, however many
# candidates there are.

choice = PrivateTeacherEnsemble(
    teacher,
    student=PrivateChoice(
        [
            (RandomForestClassifier(50), {"min_samples_leaf": [1, 5, 20]}),
            (DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 6]}),
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        ],
        share=0.05,
    ),
    classes=[0, 1],
    accountant=PrivacyAccountant(epsilon=2.0, delta=1e-5),
).fit(X, y, X_public=X_public)
print(f"{choice.n_teachers_} teachers, noise on the votes: {choice.mechanism_.sigma:.0f}")
print(f"chosen among {choice.student_.n_candidates_}: {choice.student_.best_estimator_}")

# %%
# What each way spent
# -------------------
# The ledger says what each release took. The true answers of 7,600 other people judge the two
# students; nothing was trained on them. Both figures vary by a percent or so from run to run, and
# which student is chosen may vary too.

# What each entry of the ledger took of the budget: labels and a score for each fit, and at last the
# labels of the final model.
shares = np.diff([state["everyone"].share for state in accountant.history()])
is_score = np.array(["NoisyCounts" in entry.mechanism for entry in accountant.entries()])
X_test, y_test = adult.data[test], adult.target[test]
ways = {
    f"grid search:\nstudent {final.score(X_test, y_test):.1%} right": {
        "labels to search with": shares[:-1][~is_score[:-1]].sum(),
        "scores, or the choice": shares[is_score].sum(),
        "labels of the final model": shares[-1],
    },
    f"PrivateChoice:\nstudent {choice.score(X_test, y_test):.1%} right": {
        "labels to search with": 0.0,
        "scores, or the choice": 0.05,
        "labels of the final model": choice.accountant.spent().share - 0.05,
    },
}

figure, ax = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
left = np.zeros(2)
for part, colour in zip(
    ("labels to search with", "scores, or the choice", "labels of the final model"),
    ("#b8b8b8", "#E69F00", "#0072B2"),
    strict=True,
):
    values = np.array([way[part] for way in ways.values()])
    bars = ax.barh(list(ways), values, 0.55, left=left, color=colour, label=part)
    texts = [f"{value:.0%}" if value > 0.04 else "" for value in values]
    ax.bar_label(
        bars, texts, label_type="center", color="white" if colour == "#0072B2" else "black"
    )
    left += values
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
ax.set(xlim=(0, 1), xlabel="share of a budget of epsilon = 2")
ax.xaxis.set_major_formatter("{x:.0%}")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
figure.suptitle("Searching eats the budget that the model could have had")
plt.show()

# %%
# The two ways do not search the same thing: the one tries numbers of teachers, the other students.
# A search over students alone would pay for labels in every fit, as this one did.
#
# Where to go on: :doc:`/guide/teachers`, and :doc:`/guide/around` for what else of
# scikit-learn may be put around an ensemble, or inside.
