"""Private labels and a student from UCI Adult; run by ``make demo``.

37,222 people are the private data. Some 470 logistic regressions, each fitted on 79 of them or so,
vote on the labels of 400 public rows; a student that knows the noise learns from the noisy winners.
Nothing is seeded that the guarantee rests on, so the figures vary a little from run to run.
"""

from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    GNMax,
    NoisyVoteLogisticRegression,
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    advise,
    calibrate,
    load_adult,
)
from secretballot.inspection import BudgetDisplay

PICTURE = Path("output") / "demo.png"
N_PUBLIC = 400
N_TEST = 7_600
N_TEACHERS_SCORED = 10


def split(X, y):
    """Public pool, rows for testing, private rows: who is where doesn't depend on any value."""
    order = np.random.default_rng(0).permutation(len(y))
    return [(X[rows], y[rows]) for rows in np.split(order, [N_PUBLIC, N_PUBLIC + N_TEST])]


def teacher_accuracy(teacher, n_teachers, private, test):
    """Accuracy of teachers trained as the ensemble's are, which are themselves out of reach."""
    X, y = private
    order = np.random.default_rng(1).permutation(len(y))
    shards = np.array_split(order, n_teachers)[:N_TEACHERS_SCORED]
    return np.mean([score(teacher, X[rows], y[rows], test) for rows in shards])


def score(model, X, y, test):
    return clone(model).fit(X, y).score(*test)


def student_curve(student, public, labels, test):
    """Accuracy of students that got the first labels only."""
    sizes = [size for size in (50, 100, 150, 200, 300) if size < len(labels)] + [len(labels)]
    return sizes, [score(student, public[:size], labels[:size], test) for size in sizes]


def show(what, value):
    print(f"{what:<54}{value if isinstance(value, str) else format(value, '.3f')}")


def main():
    adult = load_adult(complete_only=True, one_hot=True)
    public, test, private = split(adult.data, adult.target)
    budget = {"epsilon": 1.0, "delta": 1e-5}
    print(f"{advise(n_private=len(private[1]), n_public=N_PUBLIC, n_rows=[], **budget)}\n")

    # Each teacher scales its own rows, and the student the public ones.
    teacher = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    student = make_pipeline(StandardScaler(), NoisyVoteLogisticRegression())

    accountant = PrivacyAccountant(**budget, unit="row")
    ensemble = PrivateTeacherEnsemble(
        teacher,
        n_teachers=None,  # as many as were advised above
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
    n_teachers = ensemble.n_teachers_
    show("private data", f"{len(private[1]):,} rows, split among {n_teachers} teachers")
    show("noise", f"sigma = {ensemble.mechanism_.sigma:.1f} on each class's votes")
    renyi = calibrate(GNMax, **budget, n_queries=N_PUBLIC, n_columns=2, order="renyi").sigma
    show("  a budget of Renyi divergences would need", f"sigma = {renyi:.1f}")
    show("labels answered", f"{answered.sum()} of {len(answered)} public rows")

    # The true labels of public rows and of test rows judge; nothing was trained or tuned on them,
    # except where it says "without privacy". A teacher's accuracy is no release of the library
    # either: it is measured here because the private labels of Adult are everybody's.
    given = labels[answered].astype(int)
    rows, truth = public[0][answered], public[1][answered]
    print(f"\naccuracy on those {len(truth)} public rows")
    show("  private labels", np.mean(given == truth))

    one_teacher = teacher_accuracy(teacher, n_teachers, private, test)
    # Labels that nobody made noisy: without being told of any, the student is plain.
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
            "student, from private labels": student_curve(ensemble.student_, rows, given, test),
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
