"""Engines that run tasks on the machines where parts can be read."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from uuid import uuid4

from joblib import Parallel, delayed

if TYPE_CHECKING:
    import pandas as pd


@runtime_checkable
class Engine(Protocol):
    """Runner of tasks.

    Tasks, and their results, are small: what is private stays in files that all workers can read.
    """

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        """Yield ``function(index)`` for each index below ``n_tasks``, in any order.

        A task may be run several times.
        """


class JoblibEngine:
    """Tasks in processes of this machine, or by joblib's present backend."""

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        run = Parallel(n_jobs=None, return_as="generator_unordered")
        return cast("Iterator[object]", run(delayed(function)(index) for index in range(n_tasks)))


class DaskEngine:
    """Tasks on the workers of a Dask cluster, by its `distributed.Client`."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        from distributed import as_completed

        # Keys are shown by the dashboard.
        futures = self.client.map(
            function, range(n_tasks), key=f"secretballot-{uuid4().hex}", pure=False, retries=2
        )
        try:
            for _, result in as_completed(futures, with_results=True):
                yield result
        finally:
            self.client.cancel(futures)


class SparkEngine:
    """Tasks on the executors of a Spark session, also through Spark Connect."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        """Yield the results of tasks, once all of them have ended."""

        def run(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for batch in batches:
                results = [pickle.dumps(function(int(index))) for index in batch["id"]]
                yield batch.assign(result=results)[["result"]]

        tasks = self.session.range(0, n_tasks, 1, n_tasks)
        for row in tasks.mapInPandas(run, "result binary").collect():
            yield pickle.loads(bytes(row["result"]))


_OF_PACKAGE: dict[str, Callable[[Any], Engine]] = {
    "distributed": DaskEngine,
    "pyspark": SparkEngine,
}


def as_engine(engine: object) -> Engine:
    if engine is None:
        return JoblibEngine()
    of_package = _OF_PACKAGE.get(type(engine).__module__.partition(".")[0])
    if of_package is not None:
        return of_package(engine)
    if isinstance(engine, Engine):
        return engine
    raise ValueError(
        f"engine is a {type(engine).__name__}: give a distributed.Client, a SparkSession, None for "
        "the processes of this machine, or an object with map(function, n_tasks)."
    )
