"""Run of a fit on a Dask cluster, one of whose workers is killed in a phase of the run."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context
from sklearn.tree import DecisionTreeClassifier
from tests.distributed._parts import OWNER, TARGET, budget, public_rows

from secretballot import PrivateLogisticRegression, PrivateTeacherEnsemble, PublicData
from secretballot.tables import PrivateParts

WORDS = {
    "exchange": "Exchange.write_part",
    "training": "train_and_store",
    "voting": "_ask",
    "round": "RowSums.residual_sums",
}


class Killer:
    """Engine that kills a worker of Dask's in the first run of tasks of each phase."""

    def __init__(self, engine, cluster, phases):
        self.engine, self.cluster, self.phases = engine, cluster, list(phases)
        self.n_killed = 0

    def map(self, function, n_tasks):
        """Run tasks, and kill one worker beside them."""
        with open(function.args[0], "rb") as file:
            described = repr(pickle.load(file))
        now = [phase for phase in self.phases if WORDS[phase] in described]
        killing = threading.Thread(target=self.kill if now else str)
        self.phases = [phase for phase in self.phases if phase not in now]
        killing.start()
        yield from self.engine.map(function, n_tasks)
        killing.join()

    def kill(self):
        """Kill one of the workers that run, by its process."""
        time.sleep(random.uniform(0, 0.1))
        for _ in range(500):
            pids = [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid]
            with suppress(ProcessLookupError):
                if len(pids) == len(self.cluster.workers):
                    os.kill(pids[0], signal.SIGKILL)
                    self.n_killed += 1
                    return
            time.sleep(0.01)  # another one is started again


@contextmanager
def two_workers():
    """Start a cluster of two processes, forked by one that has imported what they need."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "secretballot", __spec__.name])
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
        ) as cluster:
            yield cluster


def run(folder, scratch, phases):
    """Return what both estimators release, and how many workers were killed."""
    warnings.simplefilter("ignore")
    with two_workers() as cluster, Client(cluster, timeout="30s") as client:
        parts = PrivateParts(
            folder, y=TARGET, owners=OWNER, engine=client, scratch=scratch, n_buckets=6
        )
        killer = Killer(parts._engine, cluster, phases)
        parts._engine = killer
        pool = public_rows()
        model = PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)
        model.fit(parts, X_public=PublicData(pool))
        numbers = pool[["a", "b"]].fillna(0)
        ensemble = PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=3),
            n_teachers=30,
            classes=[0, 1],
            reservation=10,
            accountant=budget(),
            random_state=0,
        )
        ensemble.fit(parts, X_public=PublicData(numbers))
        released = {
            "coef": model.coef_.ravel().view(np.int64).tolist(),
            "labels": ensemble.pool_labels_.labels.tolist(),
            "later": ensemble.predict_private(numbers[:10]).labels.tolist(),
            "spent": [repr(each.accountant.spent()) for each in (model, ensemble)],
        }
        ensemble._teachers.folder.delete()
    return {"n_killed": killer.n_killed, "left": os.listdir(scratch), **released}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])))
