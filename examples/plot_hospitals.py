"""Forty hospitals that ask each other, and what those learn that had seen no case.

Each of forty hospitals has measured the cells of a few patients' tumours, and knows which of them
were malignant (the Wisconsin breast cancer data, which come with scikit-learn). None may show its
patients' records to the others, nor a model that was trained on them. Three have seen benign
tumours only, so that their own models can tell none; and they have a list of measurements that
nobody has diagnosed yet.

They ask the others. The measurements are shown to all who answer; each hospital's own model votes;
noise is added to the votes, and only the winner of each vote is shown to who asked. What a vote may
cost a hospital's patients is set aside in its own ledger before it is cast: here each hospital
allows epsilon 8 in all. That is much: forty ballots are few to hide one among. With more hospitals,
or fewer questions, it takes less.

Run it from the root of the repository; the picture goes to output/hospitals.png. It takes some
seconds.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import GNMax, PrivacyAccountant
from secretballot.collaboration import Collaboration, Party

PICTURE = Path("output") / "hospitals.png"
EPSILON, DELTA = 8.0, 1e-5
N_HOSPITALS, PATIENTS = 40, 6
#: How many have seen benign tumours only, and about how many patients each of them asks.
ASKERS, ASKED = 3, 20


def hospitals(X, y):
    """Return hospitals, trained at home, and the patients of nobody."""
    order = np.random.default_rng(0).permutation(len(X))
    first = order[y[order] == 1][: ASKERS * PATIENTS]  # 1 is benign here
    order = np.concatenate([first, order[~np.isin(order, first)]])
    model = make_pipeline(StandardScaler(), LogisticRegression())
    parties = []
    for number in range(N_HOSPITALS):
        own = order[number * PATIENTS : (number + 1) * PATIENTS]
        accountant = PrivacyAccountant(EPSILON, DELTA, unit="row")
        party = Party(model, name=f"hospital {number}", accountant=accountant, classes=[0, 1])
        parties.append(party.fit(X[own], y[own]))
    return parties, order[N_HOSPITALS * PATIENTS :]


def main():
    """Let three of them ask, print who spent what, and draw what they learned."""
    X, y = load_breast_cancer(return_X_y=True)
    parties, rest = hospitals(X, y)
    asked, test = np.split(rest, [ASKERS * ASKED])
    pools = {parties[i].name: X[asked[i * ASKED : (i + 1) * ASKED]] for i in range(ASKERS)}
    truth = {name: y[asked[i * ASKED : (i + 1) * ASKED]] for i, name in enumerate(pools)}

    def quality(party):
        return balanced_accuracy_score(y[test], party.predict(X[test]))

    before = [quality(party) for party in parties]
    together = Collaboration(parties)
    agreement = together.agree(GNMax, n_rows=ASKERS * ASKED, share=0.95)
    answers = together.learn(pools, agreement)
    after = [quality(party) for party in parties]

    print(f"{len(parties)} hospitals agreed on {agreement.mechanism}")
    for name, (answer,) in answers.items():
        right = np.mean(answer.labels == truth[name])
        print(f"{name} asked about {ASKED}: {len(answer.voters)} voted, {right:.0%} are right")
    for number in range(ASKERS):
        print(
            f"{parties[number].name}: balanced accuracy {before[number]:.3f}, then "
            f"{after[number]:.3f}"
        )
    spent = together.spent()
    print(f"the other {len(parties) - ASKERS} have {np.mean(before[ASKERS:]):.3f} on average")
    shares = [spent[party.name].share for party in parties]
    print(f"spent: {shares[0]:.0%} by those who asked each other, {shares[-1]:.0%} by the rest")
    draw(before, after, shares)


def draw(before, after, shares):
    """Draw quality before and after, and what it cost whom."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    at = np.arange(len(before))
    upper.scatter(at, before, color="grey", label="trained at home")
    upper.scatter(at[:ASKERS], after[:ASKERS], color="tab:blue", label="after the others' answers")
    for i in range(ASKERS):
        upper.annotate(
            "",
            (i, after[i]),
            (i, before[i]),
            arrowprops={"arrowstyle": "->", "color": "tab:blue"},
        )
    upper.set_ylabel("balanced accuracy\n(patients of nobody)")
    upper.legend(loc="lower right")
    lower.bar(at, shares, color="tab:orange")
    lower.set_ylim(0, 1)
    lower.set_ylabel(f"share of epsilon {EPSILON:g}\nthat its patients spent")
    lower.set_xlabel("hospital; the first three had seen benign tumours only, and asked")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"Picture: {PICTURE}")


if __name__ == "__main__":
    main()
