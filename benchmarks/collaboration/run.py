"""What parties gain from asking each other: before and after, as in multi-label CaPC.

    python benchmarks/collaboration/run.py [--sets adult celeba] [--parties 50 10]
        [--epsilons 2 8 20] [--rows 40] [--balanced] [--seeds 3] [--out FILE] [--quick]

Each party has `--rows` rows of its own. Three of them ask, the first three or (``weakest``) those
whose models are the worst, and all others vote: 49 ballots a row at most. Each party's people have
epsilon at delta 1e-5, one row replaced. Models are judged on 2,000 other rows: balanced accuracy,
AUC and average precision (MAP: its mean over labels), before and after, means over the three and
over seeds. With a threshold a label is answered where a noisy 60 % of the ballots agree.

How many rows are asked about follows from public numbers: as many as leave the noise on a count
at most `--noise` ballots in a hundred, and at least ten a party.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    BinaryVoting,
    BudgetExceededError,
    ConfidentGNMax,
    GNMax,
    PrivacyAccountant,
    load_adult,
)
from secretballot.parties import Agreement, Collaboration, Party

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
#: What is learned from the other attributes of a face; three of them are rare.
LABELS = (
    *("Attractive", "Bags_Under_Eyes", "Big_Nose", "Double_Chin"),
    *("Gray_Hair", "Heavy_Makeup", "Male", "Young"),
)


class Table(NamedTuple):
    """Rows, their class or labels, and what a party trains on them."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    labels: tuple[str, ...] | None
    estimator: object


def adult(weight: str | None) -> Table:
    """Adult, categories as indicators; a party scales its own rows."""
    X, y = load_adult(complete_only=True, one_hot=True, return_X_y=True)
    estimator = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, class_weight=weight, max_iter=500)
    )
    return Table(np.asarray(X, dtype=float), np.asarray(y), None, estimator)


def celeba(weight: str | None) -> Table:
    """Eight attributes of faces (one to five in a hundred rare), told from the other 32."""
    with np.load(SHARED / "celeba_attributes.npz") as file:
        attributes = np.unpackbits(file["packed"], axis=1)[:, :40]
        names = [str(name) for name in file["names"]]
    at = [names.index(name) for name in LABELS]
    others = [i for i in range(40) if i not in at]
    estimator = MultiOutputClassifier(LogisticRegression(C=0.3, class_weight=weight, max_iter=500))
    y = attributes[:, at].astype(np.int64)
    return Table(attributes[:, others].astype(float), y, LABELS, estimator)


def available() -> dict[str, object]:
    """Return the sets that can be read here, by name."""
    return {"adult": adult, **({"celeba": celeba} if SHARED.exists() else {})}


OUTPUT = Path(os.environ.get("SECRETBALLOT_OUTPUT", Path(__file__).resolve().parents[2] / "output"))
DELTA, ASKERS, TEST = 1e-5, 3, 2_000
_AGREED: dict[tuple[Any, ...], tuple[Agreement, int] | None] = {}


def probabilities(party: Party, X: Any) -> Any:
    """Return a column for each label, or one for the second class."""
    try:
        given = party.predict_proba(X)
    except AttributeError:  # it saw one class only
        given = np.eye(2)[party.predict(X)]
    if isinstance(given, list):
        return np.column_stack([each[:, -1] for each in given])
    return given if party.labels else given[:, 1:]


def scores(party: Party, X: Any, y: Any) -> dict[str, list[float]]:
    """Return each metric, label by label."""
    truth = y.reshape(len(y), -1)
    said, probable = party.predict(X).reshape(len(y), -1), probabilities(party, X)
    each = range(truth.shape[1])
    return {
        "bac": [balanced_accuracy_score(truth[:, i], said[:, i]) for i in each],
        "auc": [roc_auc_score(truth[:, i], probable[:, i]) for i in each],
        "map": [average_precision_score(truth[:, i], probable[:, i]) for i in each],
    }


def voting(table: Table, n_voters: int, threshold: bool) -> Any:
    """Return how votes become labels, given the noise."""
    passing = 0.6 * n_voters

    def make(sigma: float) -> Any:
        bar = {"threshold": passing, "sigma_threshold": sigma} if threshold else {}
        if table.labels is None and not threshold:
            return GNMax(sigma=sigma)
        if table.labels is None:
            return ConfidentGNMax(sigma=sigma, n_votes=n_voters, **bar)
        return BinaryVoting(sigma=sigma, n_votes=n_voters, **bar)

    return make


def agreed(
    together: Collaboration, table: Table, threshold: bool, noise: float
) -> tuple[Agreement, int] | None:
    """Return the vote, and how many rows each of three parties asks about; None if all drown."""
    n_voters = len(together.parties) - 1
    make, n_rows, found = voting(table, n_voters, threshold), 10, None
    while n_rows <= 640:
        # In three questions rows cost a little more than in one.
        try:
            agreement = together.agree(make, n_rows=ASKERS * n_rows, share=0.97)
        except BudgetExceededError:
            break
        if found and agreement.mechanism.sigma > noise * n_voters:
            break
        found = agreement, n_rows
        n_rows *= 2
    return found


def right_of(answers: dict[str, Any], truth: dict[str, Any]) -> float:
    """Return how many of the labels that were answered are right."""
    right = [(a.labels == truth[name])[a.answered] for name in truth for a in answers[name]]
    return float(np.concatenate(right).mean()) if sum(map(len, right)) else np.nan


def run(
    table: Table, n_parties: int, epsilon: float, rows: int, seed: int, noise: float
) -> Iterator[dict[str, Any]]:
    """Yield what three parties gain, with and without a threshold, for each way to choose them."""
    order = np.random.default_rng(seed).permutation(len(table.X))
    own, rest = order[: n_parties * rows].reshape(n_parties, rows), order[n_parties * rows :]
    test, pool = rest[:TEST], rest[TEST:]

    def parties() -> list[Party]:
        return [
            Party(
                table.estimator,
                name=str(i),
                accountant=PrivacyAccountant(epsilon, DELTA),
                classes=None if table.labels else [0, 1],
                labels=table.labels,
                random_state=0,
            ).fit(table.X[mine], table.y[mine])
            for i, mine in enumerate(own)
        ]

    before = [scores(party, table.X[test], table.y[test]) for party in parties()]
    weakest = np.argsort([np.mean(each["bac"]) for each in before])[:ASKERS]
    for threshold in (False, True):
        for who, askers in (("first", range(ASKERS)), ("weakest", weakest)):
            together = Collaboration(parties())
            # It follows from public numbers, which are the same for all seeds.
            key = (table.labels, n_parties, epsilon, threshold, noise)
            if key not in _AGREED:
                _AGREED[key] = agreed(together, table, threshold, noise)
            if (vote := _AGREED[key]) is None:
                print(f"{n_parties} parties, epsilon {epsilon:g}: noise drowns all votes")
                continue
            agreement, n_rows = vote
            names = [str(i) for i in askers]
            pools = {
                name: table.X[pool[i * n_rows : (i + 1) * n_rows]] for i, name in enumerate(names)
            }
            answers = together.learn(pools, agreement)
            truth = {
                name: table.y[pool[i * n_rows : (i + 1) * n_rows]] for i, name in enumerate(names)
            }
            spent = max(each.share for each in together.spent().values())
            assert spent <= 1
            yield {
                "threshold": threshold,
                "who": who,
                "sigma": agreement.mechanism.sigma,
                "rows": n_rows,
                "spent": spent,
                "right": right_of(answers, truth),
                "answered": float(
                    np.mean([a.answered.mean() for name in names for a in answers[name]])
                ),
                "before": [before[int(name)] for name in names],
                "after": [
                    scores(together.parties[name], table.X[test], table.y[test]) for name in names
                ],
            }


def show(runs: list[dict[str, Any]]) -> None:
    """Print means over seeds, and the spread over seeds of what was gained."""
    keys = ("set", "parties", "epsilon", "who", "threshold")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for each in runs:
        groups.setdefault(tuple(each[key] for key in keys), []).append(each)
    print(
        "set     parties epsilon who      threshold rows  sigma  right  answered   BAC / AUC / MAP"
    )
    for (name, n, epsilon, who, threshold), found in groups.items():
        cells = []
        for metric in ("bac", "auc", "map"):
            old, new = (
                np.array([np.mean([p[metric] for p in each[when]]) for each in found])
                for when in ("before", "after")
            )
            cells.append(f"{old.mean():.3f} -> {new.mean():.3f} (+-{(new - old).std():.3f})")
        right, answered = (np.mean([e[key] for e in found]) for key in ("right", "answered"))
        print(
            f"{name:<8}{n:<8}{epsilon:<8g}{who:<9}{threshold!s:<10}{found[0]['rows']:<6}"
            f"{found[0]['sigma']:<7.3g}{right:<7.3f}{answered:<9.2f}  " + "   ".join(cells)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(available()))
    parser.add_argument("--parties", nargs="+", type=int, default=[50, 10])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[2.0, 8.0, 20.0])
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--noise", type=float, default=20.0)
    parser.add_argument("--balanced", action="store_true", help="parties weigh rare classes more")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUTPUT / "collaboration.jsonl")
    parser.add_argument("--quick", action="store_true", help="Adult, 10 parties, a seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], parties=[10], epsilons=[20.0], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UndefinedMetricWarning)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    runs = []
    for name in given.sets:
        table = available()[name]("balanced" if given.balanced else None)
        for seed in range(given.seeds):
            for n_parties in given.parties:
                for epsilon in given.epsilons:
                    told = {"set": name, "parties": n_parties, "epsilon": epsilon, "seed": seed}
                    for found in run(
                        table, n_parties, epsilon, given.rows, seed, given.noise / 100
                    ):
                        runs.append({**told, **found})
                        with given.out.open("a", encoding="utf-8") as lines:
                            lines.write(json.dumps(runs[-1]) + "\n")
    show(runs)


if __name__ == "__main__":
    main()
