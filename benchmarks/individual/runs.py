"""What labelling under individual budgets gives, setting by setting; for `tables.py`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from settings import DELTA, MECHANISMS, N_CLASSES, N_TEACHERS, Setting
from votes import CACHE, N_PRIVATE, Rows, Votes, model, path_of, rows, votes_of

from secretballot import ConfidentGNMax, Weighting
from secretballot.accounting import EVERYONE, ORDERS, RenyiCost
from secretballot.mechanisms import UNANSWERED

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
from papernot import published

Floats = NDArray[np.float64]
_ROWS = 500  # priced at a time


@dataclass(frozen=True)
class Accounting:
    """What a row is charged, and how the total becomes epsilon."""

    published: bool
    data_dependent: bool
    conversion: Mapping[str, Any]


#: Papernot's bound of the vote and the Gaussian one of the threshold, Mironov, orders 2 to 50; and
#: the exact divergences, on these votes or on the worst ones, Canonne-Kamath-Steinke, fine orders.
ACCOUNTINGS = {
    "published": Accounting(True, True, {"conversion": "mironov", "orders": tuple(range(2, 51))}),
    "exact": Accounting(False, True, {}),
    "worst case": Accounting(False, False, {}),
}


@dataclass(frozen=True)
class Voting:
    """One labelling of the public rows: their order, and what would be drawn for each.

    The pool is asked again, in another order, once it is used up. The noisy winner is -1 where the
    threshold is not reached.
    """

    order: NDArray[np.intp]
    winner: NDArray[np.int64]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows are answered."""
        return self.winner != UNANSWERED


def draw(votes: Floats, mechanism: ConfidentGNMax, key: list[int], passes: int = 3) -> Voting:
    """Draw a labelling. Seeded, as nothing is that anybody's privacy rests on."""
    rng = np.random.default_rng(key)
    order = np.concatenate([rng.permutation(len(votes)) for _ in range(passes)])
    return Voting(order, mechanism.sample(votes[order], rng))


@dataclass(frozen=True)
class Stop:
    """Rows asked and labels given, and the epsilon of each level over its budget by then."""

    n_rows: int
    n_labels: int
    shares: dict[str, float]


class Prices:
    """Costs of each public row to each level, were it answered or not."""

    def __init__(self, votes: Floats, mechanism: Any, accounting: Accounting) -> None:
        self._conversion = accounting.conversion
        charged = published(mechanism) if accounting.published else mechanism
        known = votes if accounting.data_dependent else None
        self._cost = [
            charged.cost(np.full(len(votes), outcome), known, n_columns=votes.shape[1])
            for outcome in (UNANSWERED, 0)
        ]

    def epsilons(self, voting: Voting) -> Iterator[dict[str, Floats]]:
        """Yield epsilon of each level after each row asked, some rows at a time."""
        bit, vote = self._cost
        total = {name: np.zeros(len(ORDERS)) for name in bit}
        for start in range(0, len(voting.order), _ROWS):
            rows = voting.order[start : start + _ROWS]
            answered = voting.answered[start : start + _ROWS, None]
            epsilons = {}
            for name, spent in total.items():
                each = np.where(answered, vote[name].curve[rows], bit[name].curve[rows])
                curve = spent + np.cumsum(each, axis=0)
                total[name] = curve[-1]
                epsilons[name] = RenyiCost(curve).epsilon(DELTA, **self._conversion)
            yield epsilons

    def stop(self, voting: Voting, budgets: Mapping[str, float]) -> Stop:
        """Return how far the budgets last: no level's epsilon exceeds its own."""
        n_rows, last = 0, dict.fromkeys(budgets, 0.0)
        for epsilons in self.epsilons(voting):
            shares = {name: epsilons[name] / budgets[name] for name in budgets}
            within = np.max(list(shares.values()), axis=0) <= 1
            fits = len(within) if within.all() else int(within.argmin())
            if fits:
                last = {name: float(share[fits - 1]) for name, share in shares.items()}
            n_rows += fits
            if fits < len(within):
                return Stop(n_rows, int(voting.answered[:n_rows].sum()), last)
        raise ValueError(f"{n_rows} rows don't use up the budgets; ask for more passes.")


N_VOTINGS = 5
#: Ways to weigh: proportional to epsilon, as published, or such that all levels run out together.
RULES = ("proportional", "balanced")


@dataclass(frozen=True)
class Run:
    """Labels that a budget buys, and accuracy in per cent: theirs, and a student's on test rows."""

    rule: str
    accounting: str
    seed: int
    voting: int
    labels: int
    shares: dict[str, float]
    accuracy: float | None = None
    student: float | None = None
    student_by_class: list[float] | None = None


def evaluate(
    settings: Sequence[Setting], seeds: Sequence[int], trees: int, n_votings: int, n_jobs: int
) -> dict[Setting, dict[str, Any]]:
    """Label under all settings that were not yet; return dicts of `Run`, and `test_accuracy`."""
    paths = {
        (setting, seed): CACHE
        / f"{path_of(setting, seed, trees).stem}_{_budgets(setting)}_{n_votings}votings.json"
        for setting in settings
        for seed in seeds
    }
    tasks = [
        delayed(_evaluate)(path, setting, seed, trees, n_votings)
        for (setting, seed), path in sorted(paths.items(), key=lambda item: item[0][0].data)
        if not path.exists()
    ]
    done = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    for number, said in enumerate(done, start=1):
        print(f"[{number}/{len(tasks)}] {said}", flush=True)
    found: dict[Setting, dict[str, Any]] = {}
    for (setting, _), path in paths.items():
        each = json.loads(path.read_text())
        of_setting = found.setdefault(setting, {"runs": [], "test": []})
        of_setting["runs"] += each["runs"]
        of_setting["test"].append(each["test"])
    return found


def _budgets(setting: Setting) -> str:
    return "-".join(f"{epsilon:.3f}" for epsilon in setting.epsilons)


def _evaluate(path: Path, setting: Setting, seed: int, trees: int, n_votings: int) -> str:
    start = time.perf_counter()
    found = {
        "runs": [asdict(run) for run in runs(setting, seed, trees, n_votings)],
        "test": test_accuracy(setting, seed, trees),
    }
    aside = path.with_suffix(f".{os.getpid()}.part")
    aside.write_text(json.dumps(found))
    aside.replace(path)
    return f"{path.stem}: labelled, {time.perf_counter() - start:.0f} s"


def runs(setting: Setting, seed: int, trees: int, n_votings: int = N_VOTINGS) -> Iterator[Run]:
    """Label the public rows of a setting, by each rule and under each accounting."""
    split = rows(setting.data, seed)
    votes = votes_of(setting, seed, trees)
    for rule in RULES if setting.way == "weighting" else ("",):
        counts, mechanism = individual(setting, rule, votes, split, seed)
        names = setting.names if setting.way != "plain" else (EVERYONE,)
        budgets = dict(zip(names, setting.epsilons, strict=True))
        prices = {name: Prices(counts, mechanism, ACCOUNTINGS[name]) for name in ACCOUNTINGS}
        for number in range(n_votings):
            voting = draw(counts, mechanism, [seed, number])
            for accounting, price in prices.items():
                stop = price.stop(voting, budgets)
                accuracy = _accuracy(voting, stop.n_rows, split["public"].y)
                run = Run(
                    rule, accounting, seed, number, stop.n_labels, stop.shares, accuracy=accuracy
                )
                if accounting == "published" and rule in ("", "proportional"):
                    student = model(setting.data, trees)
                    run = _with_student(run, student, voting, stop.n_rows, split)
                yield run


def individual(
    setting: Setting,
    rule: str,
    votes: Votes,
    split: Mapping[str, Rows],
    seed: int,
    part: str = "public",
) -> tuple[NDArray[np.float64], Any]:
    """Return the counts of some rows and the mechanism that charges each level for them."""
    plain = MECHANISMS[setting.data]
    cast = getattr(votes, part)
    if setting.way == "plain":
        return cast[EVERYONE], plain
    individualization = Weighting() if rule == "balanced" else setting.individualization
    assignment = setting.assignment(setting.levels(split["private"].y, seed), individualization)
    mechanism = assignment.individualize(plain, N_CLASSES[setting.data])
    return assignment.add_up(cast, mechanism), mechanism


def of_one_mind(setting: Setting, n_votings: int = N_VOTINGS) -> float:
    """Return the labels that published accounting buys if all teachers agree on every row.

    No votes cost less or pass the threshold more often: it is the most that any teachers get.
    """
    n_private, n_classes = N_PRIVATE[setting.data], N_CLASSES[setting.data]
    mechanism, n_teachers, names = MECHANISMS[setting.data], N_TEACHERS, (EVERYONE,)
    if setting.way != "plain":
        levels = setting.levels(np.zeros(n_private), seed=0)
        assignment = setting.assignment(levels, setting.individualization)
        mechanism, names = assignment.individualize(mechanism, n_classes), setting.names
        n_teachers = assignment.n_teachers  # their weights add up to their number
    counts = np.eye(n_classes)[:1] * n_teachers
    prices = Prices(counts, mechanism, ACCOUNTINGS["published"])
    budgets = dict(zip(names, setting.epsilons, strict=True))
    votings = [draw(counts, mechanism, [0, k], passes=20_000) for k in range(n_votings)]
    return float(np.mean([prices.stop(voting, budgets).n_labels for voting in votings]))


def test_accuracy(setting: Setting, seed: int, trees: int) -> dict[str, list[float]]:
    """Return accuracy in per cent of single teachers and of their noisy vote: by class, overall."""
    split = rows(setting.data, seed)
    votes = votes_of(setting, seed, trees)
    counts, mechanism = individual(setting, "proportional", votes, split, seed, part="test")
    truth = split["test"].y
    cast = sum(votes.test.values())
    right = {
        "teachers": cast[np.arange(len(truth)), truth] / cast[0].sum(),
        "votes": noisy_vote(counts, mechanism, seed) == truth,
    }
    by_class = {name: _by_class(each, truth) for name, each in right.items()}
    return {**by_class, "overall": [100 * float(each.mean()) for each in right.values()]}


def _by_class(right: NDArray[Any], truth: NDArray[np.int64]) -> list[float]:
    return [100 * float(right[truth == code].mean()) for code in np.unique(truth)]


def noisy_vote(counts: NDArray[np.int64], mechanism: Any, seed: int) -> NDArray[np.int64]:
    """Return the noisy winner of every row: a threshold that all rows pass."""
    everyone = replace(mechanism, threshold=-1e9)
    return everyone.sample(counts, np.random.default_rng([seed, 3]))


def _accuracy(voting: Voting, n_rows: int, truth: NDArray[np.int64]) -> float | None:
    answered = voting.answered[:n_rows]
    right = voting.winner[:n_rows] == truth[voting.order[:n_rows]]
    return 100 * float(right[answered].mean()) if answered.any() else None


def _with_student(
    run: Run, student: Any, voting: Voting, n_rows: int, split: Mapping[str, Rows]
) -> Run:
    n_rows = min(n_rows, len(split["public"].y))  # no row is learned from twice
    chosen = np.flatnonzero(voting.answered[:n_rows])
    labels, test = voting.winner[chosen], split["test"]
    if len(np.unique(labels)) < 2:
        predicted = np.full(len(test.y), labels[0] if len(labels) else 0)
    else:
        state = int(np.random.default_rng([run.seed, run.voting, 4]).integers(2**31))
        names = [name for name in student.get_params() if name.endswith("random_state")]
        student.set_params(**dict.fromkeys(names, state))
        predicted = student.fit(split["public"].X[voting.order[chosen]], labels).predict(test.X)
    right = predicted == test.y
    return replace(
        run, student=100 * float(right.mean()), student_by_class=_by_class(right, test.y)
    )
