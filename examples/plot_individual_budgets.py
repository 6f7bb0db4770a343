"""Everybody chooses how much privacy they want: what each person got, and what they gave.

An office holds records of 37,222 people (UCI Adult) and wants a program that guesses from a record
whether somebody earns more than 50,000 dollars. Before anything was computed, each person ticked
one of three boxes: *strict*, *medium* or *open*. The program must not give away more about anybody
than the box they ticked allows.

How it works, in words:

1. The records are divided among 250 small programs, the teachers. A teacher has records of people
   who ticked the same box.
2. 600 other records are public. For each, the teachers vote on the answer. The votes of open
   people's teachers weigh more than those of strict people's.
3. Random noise is added to the votes and only the winner is told. How much noise, and how heavy a
   vote, decides how much one person's record can change what is told: that is what a budget
   (epsilon, the smaller the more private) limits.
4. A new program, the student, learns from the 600 public records and the winners. It has never seen
   a private record and may be shown to anyone.

Run it from the root of the repository; the picture goes to output/individual_budgets.png. It takes
half a minute or so; ``DEMO_QUICK=1`` trains smaller teachers, and changes nothing else.
"""

import os
import textwrap
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, Weighting, load_adult

QUICK = os.environ.get("DEMO_QUICK", "") not in ("", "0")
PICTURE = Path("output") / "individual_budgets.png"
# What the boxes say. exp(epsilon) is how many times more likely one person's record can make any
# answer, all answers together; delta is the chance, besides, that this fails.
BUDGETS = {"strict": 0.5, "medium": 1.0, "open": 2.0}
TICKED = {"strict": 0.3, "medium": 0.5, "open": 0.2}  # by how many people
DELTA = 1e-5
N_PUBLIC, N_TEST, N_TEACHERS = 600, 7_400, 250


def split(X, y):
    """Public records, records for testing, private ones: by position, not by what they say."""
    order = np.random.default_rng(0).permutation(len(y))
    return [(X[rows], y[rows]) for rows in np.split(order, [N_PUBLIC, N_PUBLIC + N_TEST])]


def boxes_ticked(n_people):
    """Which box each person ticked. Drawn by lot: it must not depend on what is in the records."""
    return np.random.default_rng(1).choice(list(TICKED), size=n_people, p=list(TICKED.values()))


def label(private, boxes, X_public, individualization):
    """Have the public records labelled, with or without individual weights.

    Each call spends a budget of its own. An office would call it once: what two budgets allow adds
    up. Here it is called twice, to compare, and may be, as the records of Adult are everybody's.
    """
    ensemble = PrivateTeacherEnsemble(
        RandomForestClassifier(n_estimators=5 if QUICK else 20),
        n_teachers=N_TEACHERS,
        student=RandomForestClassifier(n_estimators=100, min_samples_leaf=3),
        classes=[0, 1],  # told beforehand, not learned from private records
        individualization=individualization,
        accountant=PrivacyAccountant(BUDGETS, delta=DELTA),
        n_jobs=-1,
    )
    return ensemble.fit(*private, X_public=X_public, budgets=boxes)


def right(ensemble, y_public):
    """Share of the private labels that are right."""
    labels, answered = ensemble.pool_labels_
    return np.mean(labels[answered].astype(int) == y_public[answered])


def say(text):
    print(textwrap.fill(" ".join(text.split()), 79) + "\n")


def draw(everyone_alike, by_choice, boxes):
    """Who got what: the budget of each box, and how much of it was used in either way."""
    from matplotlib.figure import Figure

    names = list(BUDGETS)
    place = np.arange(len(names))
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, middle = figure.subplots(1, 2, width_ratios=(2, 1))
    left.bar(place, list(BUDGETS.values()), 0.8, color="0.9", label="what they allowed")
    for shift, ensemble, name in (
        (-0.18, everyone_alike, "used if everybody counts alike"),
        (0.18, by_choice, "used if votes weigh as people chose"),
    ):
        used = [ensemble.accountant.spent()[level].epsilon for level in names]
        left.bar(place + shift, used, 0.34, label=name)
    left.set_xticks(place, [f"{name}\n{np.sum(boxes == name):,} people" for name in names])
    left.set_ylabel("epsilon: less is more private")
    left.legend(fontsize="small")
    middle.bar(place, [by_choice.mechanism_.weight[name] for name in names], 0.5, color="0.6")
    middle.axhline(1, color="black", linewidth=0.8, linestyle="--")
    middle.set_xticks(place, names)
    middle.set_ylabel("what a vote weighs")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main():
    adult = load_adult(complete_only=True)
    public, test, private = split(adult.data, adult.target)
    boxes = boxes_ticked(len(private[1]))

    everyone_alike = label(private, boxes, public[0], None)
    by_choice = label(private, boxes, public[0], Weighting())

    print(by_choice.statement())

    print("\n\nWHAT HAPPENED, IN PLAIN WORDS\n")
    noise = [each.mechanism_.sigma for each in (everyone_alike, by_choice)]
    say(
        f"Without individual budgets the strict decide for all: nobody's privacy may be used up "
        f"further than theirs, and the noise on a vote is {noise[0]:.0f} votes. With them it is "
        f"{noise[1]:.0f}: those who allowed more are heard more, and nobody pays with more than "
        f"they allowed."
    )
    for level, spent in by_choice.accountant.spent().items():
        say(
            f"{level}: {np.sum(boxes == level):,} people allowed epsilon {BUDGETS[level]:g}. "
            f"{spent.share:.1%} of it is used. One of their votes weighs "
            f"{by_choice.mechanism_.weight[level]:.2f}."
        )
    print(f"{'':44s}{'all alike':>12s}{'as chosen':>12s}")
    for what, function in (
        ("private labels that are right", lambda each: right(each, public[1])),
        ("answers of the student that are right", lambda each: each.score(*test)),
    ):
        print(f"{what:44s}{function(everyone_alike):12.1%}{function(by_choice):12.1%}")
    print(f"{'always answering no':44s}{1 - test[1].mean():12.1%}{1 - test[1].mean():12.1%}")

    print()
    say(
        """Public, and may be shown: the 600 records asked about, the 600 winners, the student
        (ensemble.to_student()), the statement above; also who ticked which box, and that is why
        ticking a box must not depend on the records."""
    )
    say(
        """The comparison is for this page only: it spent a second budget on the same people, and
        the two add up. An office decides beforehand, and spends one."""
    )
    say(
        """Not public, and must stay in the house: the private records, the teachers (they
        have seen them), the votes before the noise, and the ensemble, which holds all three."""
    )
    say(
        """Not promised: that the answers are as right for everybody. People who give less are
        heard less. Compare the student's errors between groups, on public records, before it is
        used."""
    )
    draw(everyone_alike, by_choice, boxes)
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
