"""Private labels and a student from UCI Adult; run by ``make demo``.

37,222 people are the private data. 250 random forests, each trained on 149 of them or so, vote on
the labels of 400 public rows; a student learns from the noisy winners. Nothing is seeded that the
guarantee rests on, so the figures vary a little from run to run.

``DEMO_QUICK=1`` gives every forest fewer trees, and changes nothing else.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from secretballot import GNMax, PrivacyAccountant, PrivateTeacherEnsemble, calibrate, load_adult
from secretballot.inspection import BudgetDisplay

QUICK = os.environ.get("DEMO_QUICK", "") not in ("", "0")
PICTURE = Path("output") / "demo.png"
N_TEACHERS = 250
N_PUBLIC = 400
N_TEST = 7_600
N_TEACHERS_SCORED = 10


def split(X, y):
    """Public pool, rows for testing, private rows: who is where doesn't depend on any value."""
    order = np.random.default_rng(0).permutation(len(y))
    return [(X[rows], y[rows]) for rows in np.split(order, [N_PUBLIC, N_PUBLIC + N_TEST])]


def teacher_accuracy(teacher, private, test):
    """Accuracy of teachers trained as the ensemble's are, which are themselves out of reach."""
    X, y = private
    order = np.random.default_rng(1).permutation(len(y))
    shards = np.array_split(order, N_TEACHERS)[:N_TEACHERS_SCORED]
    return np.mean([score(teacher, X[rows], y[rows], test) for rows in shards])


def score(model, X, y, test):
    return clone(model).fit(X, y).score(*test)


def student_curve(student, public, labels, test):
    """Accuracy of students that got the first labels only."""
    sizes = [size for size in (25, 50, 100, 150, 200, 300) if size < len(labels)] + [len(labels)]
    return sizes, [score(student, public[:size], labels[:size], test) for size in sizes]


def show(what, value):
    print(f"{what:<54}{value if isinstance(value, str) else format(value, '.3f')}")


def main():
    adult = load_adult(complete_only=True)
    public, test, private = split(adult.data, adult.target)
    teacher = RandomForestClassifier(n_estimators=10 if QUICK else 50)
    student = RandomForestClassifier(n_estimators=200, min_samples_leaf=3)

    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, unit="row")
    ensemble = PrivateTeacherEnsemble(
        teacher,
        n_teachers=N_TEACHERS,
        student=student,
        classes=[0, 1],
        accountant=accountant,
        n_jobs=-1,
    )
    ensemble.fit(*private, X_public=public[0])

    labels, answered = ensemble.pool_labels_
    show("unit", f"one {accountant.unit} of the private data, replaced by any other")
    show("budget", f"epsilon = {accountant.epsilon:g}, delta = {accountant.delta:g}")
    show("spent", f"{accountant.spent().share:.1%} of it")
    show("private data", f"{len(private[1]):,} rows, split among {N_TEACHERS} random forests")
    show("noise", f"sigma = {ensemble.mechanism_.sigma:.1f} on each class's votes")
    wanted = {"epsilon": 1.0, "delta": 1e-5, "n_queries": N_PUBLIC, "n_columns": 2}
    renyi = calibrate(GNMax, **wanted, order="renyi").sigma
    show("  a budget of Renyi divergences would need", f"sigma = {renyi:.1f}")
    show("labels answered", f"{answered.sum()} of {len(answered)} public rows")

    # The true labels of public rows and of test rows judge; nothing was trained or tuned on them,
    # except where it says "without privacy". A teacher's accuracy is no release of the library
    # either: it is measured here because the private labels of Adult are everybody's.
    given = labels[answered].astype(int)
    rows, truth = public[0][answered], public[1][answered]
    print(f"\naccuracy on those {len(truth)} public rows")
    show("  private labels", np.mean(given == truth))

    one_teacher = teacher_accuracy(teacher, private, test)
    all_rows = score(student, *private, test)
    print(f"\naccuracy on {len(test[1]):,} other rows")
    show(f"  always {adult.target_names[0]}", 1 - test[1].mean())
    show(f"  a teacher (mean of {N_TEACHERS_SCORED})", one_teacher)
    show("  student, from the private labels", ensemble.score(*test))
    show("  without privacy: same student and rows, true labels", score(student, rows, truth, test))
    show("  without privacy: same student, all private rows", all_rows)

    display = BudgetDisplay.from_accountant(
        accountant,
        accuracy={
            "student, from private labels": student_curve(student, rows, given, test),
            "same student, true labels": student_curve(student, rows, truth, test),
            "a teacher": (None, one_teacher),
            "same student, all private rows": (None, all_rows),
        },
    )
    display.accuracy_ax_.set_title(f"Adult, epsilon = {accountant.epsilon:g} a row")
    PICTURE.parent.mkdir(exist_ok=True)
    display.figure_.savefig(PICTURE, dpi=150)
    show("\npicture", str(PICTURE))


if __name__ == "__main__":
    main()
