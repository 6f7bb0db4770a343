"""Several facts about a person at once: three ways to vote on them, and what each costs.

A statistics office holds records of 38,000 people (UCI Adult) and wants a program that guesses from
age, work and origin which of five facts hold: earns more than 50,000 dollars, is married, has a
degree, works more than 40 hours a week, has income from capital. 250 teachers, each trained on the
records of 150 people, vote on 300 public records. The labels that noise leaves of their votes may
be shown to anyone, and so may the student that learns from them.

- *Binary* takes a vote on every label: five questions a record.
- *tau* clips ballots, so that one that calls many labels present counts for each of them in part.
- *Powerset* takes one vote a record, between all 32 sets of labels.

Run it from the root of the repository; the picture goes to output/multilabel.png. It takes a minute
or so; ``DEMO_QUICK=1`` asks fewer teachers.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier

from secretballot import (
    BinaryVoting,
    PowersetVoting,
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    TauVoting,
    load_adult,
    recommend_mechanism,
)
from secretballot.inspection import DependencyDisplay, label_scores

QUICK = os.environ.get("DEMO_QUICK", "") not in ("", "0")
PICTURE = Path("output") / "multilabel.png"
EPSILON, DELTA = 2.0, 1e-5
N_TEACHERS, N_PUBLIC, N_TEST = 100 if QUICK else 250, 300, 7_000
FACTS = ["above 50,000", "married", "degree", "long hours", "capital"]
KNOWN = ["age", "workclass", "occupation", "race", "sex", "native_country"]


def records():
    """What is known of each person, and the five facts."""
    adult = load_adult(complete_only=True)
    of = dict(zip(adult.feature_names, adult.data.T, strict=True))
    married = adult.categories["marital_status"].index("Married-civ-spouse")
    facts = [
        adult.target == 1,
        of["marital_status"] == married,
        of["education_num"] >= 13,
        of["hours_per_week"] > 40,
        of["capital_gain"] > 0,
    ]
    return np.column_stack([of[name] for name in KNOWN]), np.column_stack(facts).astype(int)


def budget():
    """A new budget for each way, to compare them. An office decides for one, and has one budget.

    It counts Renyi divergences, which is the quickest to calibrate noise for.
    """
    return PrivacyAccountant(EPSILON, DELTA, order="renyi")


def ways():
    """The three votes, from the noise on a count to the mechanism."""
    return {
        "Binary": lambda sigma: BinaryVoting(sigma=sigma, n_votes=N_TEACHERS),
        "tau": lambda sigma: TauVoting(sigma=sigma, n_votes=N_TEACHERS, tau=2**0.5),
        "Powerset": lambda sigma: PowersetVoting(sigma=sigma, n_labels=len(FACTS)),
    }


def student():
    """What learns from the labels: rare facts count as much as common ones."""
    return MultiOutputClassifier(
        RandomForestClassifier(min_samples_leaf=10, class_weight="balanced")
    )


def labelled(name, private, pool):
    """Teachers, their votes on the public records, and a student, in one of the three ways."""
    accountant = budget()
    mechanism = accountant.calibrate(ways()[name], N_PUBLIC, n_columns=len(FACTS))
    ensemble = PrivateTeacherEnsemble(
        RandomForestClassifier(10, min_samples_leaf=3, class_weight="balanced"),
        N_TEACHERS,
        mechanism=mechanism,
        student=student(),
        accountant=accountant,
        n_jobs=-1,
    )
    return ensemble.fit(*private, X_public=pool)


def noise_by_labels(sizes):
    """Noise at which so many labels of each public record fit the budget, for the three votes."""
    noise = {}
    for name, make in {
        "Binary": lambda sigma: BinaryVoting(sigma=sigma, n_votes=N_TEACHERS),
        "tau = sqrt(2)": lambda sigma: TauVoting(sigma=sigma, n_votes=N_TEACHERS, tau=2**0.5),
        "Powerset": None,
    }.items():
        noise[name] = [
            budget()
            .calibrate(
                make or (lambda sigma, k=k: PowersetVoting(sigma=sigma, n_labels=k)),
                N_PUBLIC,
                n_columns=k,
            )
            .sigma
            for k in sizes
        ]
    return noise


def draw(sizes, noise, scores, released):
    """What k labels cost, what they were good for, and which facts go with which."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for name, sigmas in noise.items():
        left.plot(sizes, sigmas, marker="o", markersize=4, label=name)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="labels of each record",
        ylabel=f"noise that {N_PUBLIC} records take",
        title=f"the cost of k labels, epsilon {EPSILON:g}",
    )
    left.legend(fontsize="small")
    place = np.arange(len(scores))
    for shift, part in ((-0.18, 0), (0.18, 1)):
        what = ("released labels", "student")[part]
        middle.bar(place + shift, [each[part] for each in scores.values()], 0.34, label=what)
    middle.axhline(0.5, color="black", linewidth=0.8, linestyle="--")
    middle.set_xticks(place, list(scores))
    middle.set(ylim=(0.4, 1), ylabel="balanced accuracy", title="what they were good for")
    middle.legend(fontsize="small")
    DependencyDisplay.from_labels(released, names=FACTS, ax=right)
    right.set_title("which facts go together")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main():
    X, Y = records()
    order = np.random.default_rng(0).permutation(len(X))
    pool, test, private = (
        (X[rows], Y[rows]) for rows in np.split(order, [N_PUBLIC, N_PUBLIC + N_TEST])
    )
    print("Beforehand, from public numbers and a guess of how good teachers are:\n")
    print(
        recommend_mechanism(
            n_teachers=N_TEACHERS,
            n_labels=len(FACTS),
            n_queries=N_PUBLIC,
            epsilon=EPSILON,
            delta=DELTA,
            agreement=0.75,
            n_positives=2,
        )
    )
    print(f"\nAfterwards, on {N_PUBLIC} public records, epsilon {EPSILON:g}:\n")
    scores, ensembles = {}, {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "mechanism=.* would answer even")  # it is meant
        for name in ways():
            ensemble = ensembles[name] = labelled(name, private, pool[0])
            votes = label_scores(pool[1], ensemble.pool_labels_.labels)
            learned = label_scores(test[1], ensemble.predict(test[0]))
            scores[name] = votes.balanced_accuracy, learned.balanced_accuracy
            print(
                f"{name:9s} noise {ensemble.mechanism_.sigma:5.1f}   balanced accuracy of the "
                f"released labels {scores[name][0]:.3f}, of the student {scores[name][1]:.3f}"
            )
    told = student().fit(*pool)
    true = label_scores(test[1], told.predict(test[0])).balanced_accuracy
    print(f"a student of the same records' true labels: {true:.3f}")
    sizes = [2, 5, 10, 20, 50, 100]
    best = max(scores, key=lambda name: scores[name][1])
    draw(sizes, noise_by_labels(sizes), scores, ensembles[best].pool_labels_)
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
