"""Twenty hospitals that ask each other, and what the smallest three learn.

Each of twenty hospitals has measured the cells of a few patients' tumours, and knows which of them
were malignant (the Wisconsin breast cancer data, which come with scikit-learn). None may show its
patients' records to the others, nor a model that was trained on them. Three have hardly any, and a
list of measurements that nobody has diagnosed yet.

They ask the others. The measurements are shown to all who answer; each hospital's own model votes;
noise is added to the votes, and only the winner of each vote is shown to who asked. What a vote may
cost a hospital's patients is set aside in its own ledger before it is cast: here each hospital
allows epsilon 8 in all. That is much: twenty ballots don't hide one behind less noise than this
takes. With more hospitals it is cheaper.

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
#: Patients of each hospital, and those whom each of the smallest three asks about.
SIZES = [5, 5, 5] + [15] * 17
ASKED = 20


def hospitals(X, y, order):
    """Return hospitals, trained at home, and the patients of nobody."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    parties, start = [], 0
    for number, size in enumerate(SIZES):
        own = order[start : start + size]
        accountant = PrivacyAccountant(EPSILON, DELTA, unit="row")
        party = Party(model, name=f"hospital {number}", accountant=accountant, classes=[0, 1])
        parties.append(party.fit(X[own], y[own]))
        start += size
    return parties, order[start:]


def main():
    """Let the smallest three ask, print who spent what, and draw what they learned."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(4).permutation(len(X))
    parties, rest = hospitals(X, y, order)
    asked, test = np.split(rest, [3 * ASKED])
    pools = {parties[i].name: X[asked[i * ASKED : (i + 1) * ASKED]] for i in range(3)}
    truth = {name: y[asked[i * ASKED : (i + 1) * ASKED]] for i, name in enumerate(pools)}

    def quality(party):
        return balanced_accuracy_score(y[test], party.predict(X[test]))

    before = [quality(party) for party in parties]
    together = Collaboration(parties)
    agreement = together.agree(GNMax, n_rows=3 * ASKED, share=0.95)
    answers = together.learn(pools, agreement)
    after = [quality(party) for party in parties]

    print(f"{len(parties)} hospitals agreed on {agreement.mechanism}")
    for name, (answer,) in answers.items():
        right = np.mean(answer.labels == truth[name])
        print(f"{name} asked about {ASKED}: {len(answer.voters)} voted, {right:.0%} are right")
    for number in range(3):
        print(
            f"{parties[number].name}: balanced accuracy {before[number]:.3f}, then "
            f"{after[number]:.3f}"
        )
    spent = together.spent()
    print(f"the other 17 have {np.mean(before[3:]):.3f} on average")
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
    upper.scatter(at[:3], after[:3], color="tab:blue", label="after the others' answers")
    for i in range(3):
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
    lower.set_xlabel("hospital; the first three have five patients each, and asked")
    lower.set_xticks(at)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"Picture: {PICTURE}")


if __name__ == "__main__":
    main()
