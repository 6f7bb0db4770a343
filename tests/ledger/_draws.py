"""Draws in workers; run as a script, ``python -m tests.ledger._draws KIND METHOD FOLDER``.

Of `processes` the method is one of multiprocessing's start methods, of `joblib` a backend. Prints
the answers of all draws as JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import sys

import joblib
from tests._fakes import Noisy, votes
from tests._programs import run_python

from secretballot.accounting import PrivacyAccountant

N_WORKERS = 3


def draw(accountant, n_rows=3):
    return accountant.release(Noisy(sigma=40), votes(n_rows)).tolist()


def run_workers(kind, method, path):
    """Draw in workers of a fresh interpreter, from a ledger; return the answers of all draws."""
    done = run_python("-m", "tests.ledger._draws", kind, method, path, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def draw_in_processes(accountant, method):
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    workers = [
        context.Process(target=_put_draw, args=(accountant, answers)) for _ in range(N_WORKERS)
    ]
    for worker in workers:
        worker.start()
    drawn = [answers.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    return drawn


def draw_in_joblib(accountant, backend):
    with joblib.parallel_config(backend, n_jobs=2):
        return joblib.Parallel()(joblib.delayed(draw)(accountant) for _ in range(N_WORKERS))


def _put_draw(accountant, answers):
    answers.put(draw(accountant))


def main(kind, method, path):
    # By its public name: workers that are spawned import this module anew.
    from tests.ledger import _draws

    accountant = PrivacyAccountant(50.0, 1e-5, ledger=path, order="renyi")
    # The parent draws before: workers must not go on with its stream.
    drawn = [draw(accountant)]
    drawn += getattr(_draws, f"draw_in_{kind}")(accountant, method)
    print(json.dumps([*drawn, draw(accountant)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
