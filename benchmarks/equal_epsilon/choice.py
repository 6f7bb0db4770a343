"""What choosing among students on private rows is worth: beside each fixed one, and free choices.

    python benchmarks/equal_epsilon/choice.py [--epsilon 1] [--seeds 5] [--public 400] [--quick]

Adult without the rows that miss a value: 9,045 of them for testing, some public, the others private
(one row replaced, delta 1e-5). 500 logistic teachers label the public rows. `PrivateChoice` pays
for its choice out of the same epsilon; fixed students and cross-validation on the noisy labels are
given labels that had all of it.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier as Forest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, load_adult
from secretballot.ensemble import PrivateChoice

N_TEST, DELTA = 9_045, 1e-5


def scaled(model):
    return make_pipeline(StandardScaler(), model)


STUDENTS = {
    **{f"logistic, C {C:g}": scaled(LogisticRegression(C=C)) for C in (1e-3, 0.01, 0.1, 1.0)},
    **{
        f"forest, {n} a leaf": Forest(200, min_samples_leaf=n, random_state=0)
        for n in (1, 3, 10, 20)
    },
    **{
        f"extra trees, {n} a leaf": ExtraTreesClassifier(200, min_samples_leaf=n, random_state=0)
        for n in (3, 10)
    },
    "boosting": HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0),
    **{f"support vectors, C {C:g}": scaled(SVC(C=C)) for C in (0.1, 1.0)},
    "tree, 2 deep": DecisionTreeClassifier(max_depth=2, random_state=0),
    "tree, 4 deep": DecisionTreeClassifier(max_depth=4, random_state=0),
    "20 neighbours": scaled(KNeighborsClassifier(20)),
    "Gaussian Bayes": GaussianNB(),
    "Bernoulli Bayes": scaled(BernoulliNB()),
}


def run(seed: int, epsilon: float, n_public: int, n_teachers: int) -> dict[str, float]:
    """Test accuracies of one split."""
    adult = load_adult(complete_only=True, one_hot=True)
    order = np.random.default_rng(seed).permutation(len(adult.target))
    test, public, private = np.split(order, [N_TEST, N_TEST + n_public])
    X, y = np.asarray(adult.data), np.asarray(adult.target)
    pool = X[public]

    def fitted(student):
        return PrivateTeacherEnsemble(
            scaled(LogisticRegression(C=0.1)),
            n_teachers=n_teachers,
            student=student,
            classes=[0, 1],
            accountant=PrivacyAccountant(epsilon, DELTA),
        ).fit(X[private], y[private], X_public=pool)

    students = list(STUDENTS.values())
    chosen = fitted(PrivateChoice(students))
    labels = fitted(None).pool_labels_.labels
    fixed = np.array([clone(s).fit(pool, labels).score(X[test], y[test]) for s in students])
    free = np.argmax([cross_val_score(s, pool, labels, cv=5).mean() for s in students])
    # What could have been chosen from the labels that paid for the choice.
    codes = chosen.pool_labels_.labels
    theirs = [clone(s).fit(pool, codes).score(X[test], y[test]) for s in students]
    return {
        **dict(zip(STUDENTS, fixed, strict=True)),
        "private labels, right": float(np.mean(labels == y[public])),
        "mean of all": float(fixed.mean()),
        "best of all (nobody knows which)": float(fixed.max()),
        "cross-validation on noisy labels": float(fixed[free]),
        "PrivateChoice": float(chosen.score(X[test], y[test])),
        "best that it could have chosen": max(theirs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--teachers", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="one seed, 100 teachers")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seeds=1, teachers=100)
    given = parser.parse_args()
    seeds, n_teachers = given.seeds, given.teachers
    warnings.simplefilter("ignore")
    runs = [run(seed, given.epsilon, given.public, n_teachers) for seed in range(seeds)]
    print(f"Adult, epsilon {given.epsilon:g}, {given.public} public rows, {n_teachers} teachers")
    print(f"{'test accuracy':<36}{'mean':>7}{'+-':>7}   of {seeds} splits")
    for name in runs[0]:
        values = np.array([each[name] for each in runs])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(f"{name:<36}{values.mean():>7.4f}{error:>7.4f}")


if __name__ == "__main__":
    main()
