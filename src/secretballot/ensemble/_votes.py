"""Votes: many teachers' ballots, counted, and the work on many teachers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from secretballot.divergences import EVERYONE
from secretballot.ensemble._ballots import Failures, ballots, training_failure
from secretballot.ensemble._target import as_target
from secretballot.mechanisms import Counting

Votes = NDArray[Any]
GroupVotes = dict[str, Votes]


class Counted(NamedTuple):
    """Votes by group of teachers, as they are counted, and what went wrong."""

    votes: GroupVotes
    failures: Failures
    n_teachers: int


def count_by_group(
    teachers: Mapping[int, Any],
    groups: Sequence[str],
    X: Any,
    classes: Any,
    counting: Counting | None = None,
) -> Counted:
    """Votes of some teachers, by their number, counted one teacher at a time.

    Without rows to vote on (`X` is None) it only tells who could not be trained.
    """
    failures = Failures()
    votes: GroupVotes = {}
    counting = counting or as_target(classes).counting
    for (index, teacher), group in zip(teachers.items(), groups, strict=True):
        if X is None:
            failures += training_failure(teacher, index)
            continue
        cast, failed = ballots(teacher, X, classes, index, counting)
        if group in votes:
            votes[group] = counting.add(votes[group], cast)
        else:
            votes[group] = counting.begin(cast, len(teachers))
        failures += failed
    return Counted(votes, failures, len(teachers))


class Tally:
    """Votes by group of teachers, added up as they arrive.

    Weights come last, so that the order doesn't matter.
    """

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self.votes: GroupVotes = {}
        self.failures = Failures()

    def add(self, counted: Counted) -> None:
        """Add the votes of some teachers."""
        self.failures += counted.failures
        for group, votes in counted.votes.items():
            self.votes[group] = self._counting.join(self.votes.get(group), votes)


def collect_votes(
    teachers: Sequence[Any],
    X: Any,
    classes: Any,
    n_jobs: int | None,
    groups: Sequence[str] | None = None,
) -> GroupVotes:
    """Votes of all teachers by group, counted in parallel; all are of one group if None."""
    return tally_of(teachers, X, classes, n_jobs, groups).votes


def tally_of(
    teachers: Sequence[Any],
    X: Any,
    classes: Any,
    n_jobs: int | None,
    groups: Sequence[str] | None = None,
    counting: Counting | None = None,
    told: Callable[[int], None] | None = None,
) -> Tally:
    """Return the votes of all teachers, and what went wrong; `told` hears how many have voted."""
    counting = counting or as_target(classes).counting
    of = [EVERYONE] * len(teachers) if groups is None else groups
    tasks = (
        (
            {index: teachers[index] for index in batch},
            [of[index] for index in batch],
            X,
            classes,
            counting,
        )
        for batch in batches(len(teachers), n_jobs)
    )
    tally = Tally(counting)
    for counted in run_tasks(count_by_group, tasks, n_jobs=n_jobs):
        tally.add(counted)
        if told is not None:
            told(counted.n_teachers)
    return tally


def batches(n_teachers: int, n_jobs: int | None) -> list[range]:
    """Teachers that are worked on together.

    What all teachers share (the public rows) is sent once per batch, so there should be few; but
    enough that all workers end at about the same time.
    """
    workers = effective_n_jobs(n_jobs)
    size = 1 if workers == 1 else max(1, n_teachers // (16 * workers))
    return [range(start, min(start + size, n_teachers)) for start in range(0, n_teachers, size)]


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None
) -> Iterator[Any]:
    """Results of ``function(*task)`` as they arrive, in any order, so that none has to wait.

    In processes, not in threads, unless the caller says otherwise with joblib: scikit-learn sets
    the filters of warnings anew for every task, also inside of forests, and all threads share
    them. Some would warn, or fail at a warning, only because another was about to begin.
    """
    backend, _ = get_active_backend()
    arrives = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if arrives else "list")
    return iter(parallel(delayed(function)(*task) for task in tasks))
