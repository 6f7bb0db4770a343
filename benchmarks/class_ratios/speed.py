"""Time and memory of learning class ratios: explicit features, and exact kernel sums.

    python benchmarks/class_ratios/speed.py [--quick]

Instances of 20 features in 10 bags; each line is a process of its own, so that its peak memory is
its own (instances included). Goals: explicit features in linear time, a million instances in 10 s
and 1 GB; exact sums over blocks at 100,000 instances at least as fast as a plain Gram matrix in
chunks in the same run. One thread, unless OMP_NUM_THREADS says otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

N_FEATURES, N_BAGS = 20, 10


def clock() -> np.ndarray:
    """Wall time and processor time."""
    return np.array([time.perf_counter(), time.process_time()])


def bags(n: int):
    """Bags of Gaussian classes, and their proportions."""
    rng = np.random.default_rng(0)
    P = np.full((N_BAGS, 2), 0.5)
    P[:, 0] = np.linspace(0.1, 0.9, N_BAGS)
    P[:, 1] = 1 - P[:, 0]
    size = n // N_BAGS
    made = []
    for share in P[:, 0]:
        bag = rng.normal(size=(size, N_FEATURES))
        bag[: round(share * size)] += 0.5
        made.append(bag)
    return made, P


def features(n: int, kind: str):
    """Fit with explicit features, five bandwidths tried, and predict a bag."""
    from secretballot import MMDClassRatioEstimator

    X, P = bags(n)
    begun = clock()
    fitted = MMDClassRatioEstimator(features=kind, random_state=0).fit(X, P)
    spent = clock() - begun
    error = np.abs(fitted.predict(X[:1]) - P[:1]).sum()
    return spent, error


def matched(n: int):
    """Fit features learned from the bags, all choices made, and their means; predict a bag."""
    from sklearn.pipeline import make_pipeline

    from secretballot import MMDClassRatioEstimator
    from secretballot.quantification import SoftmaxClassRatioEstimator

    X, P = bags(n)
    softmax = SoftmaxClassRatioEstimator(random_state=0)
    begun = clock()
    means = MMDClassRatioEstimator(kernel="linear", random_state=0)
    fitted = make_pipeline(softmax, means).fit(X, P)
    spent = clock() - begun
    error = np.abs(fitted.predict(X[:1]) - P[:1]).sum()
    return spent, error


def exact(n: int, gammas):
    """Kernel sums in blocks."""
    from secretballot.quantification.kernels._kernel_sums import kernel_sums

    X, _ = bags(n)
    sizes = np.full(N_BAGS * 20, n // N_BAGS // 20)
    begun = clock()
    sums = kernel_sums(np.concatenate(X), sizes, np.asarray(gammas))
    return clock() - begun, float(sums[0].sum())


def plain(n: int, gammas, chunk: int = 250):
    """The same sums from a plain Gram matrix, a chunk of rows at a time, one bandwidth."""
    X = np.concatenate(bags(n)[0])
    parts = N_BAGS * 20
    width = n // parts
    begun = clock()
    norms = (X**2).sum(axis=1)
    sums = np.zeros((parts, parts))
    for start in range(0, n, chunk):
        rows = slice(start, start + chunk)
        gram = np.exp(-gammas[0] * (norms[rows, None] + norms - 2 * X[rows] @ X.T))
        by_column = gram.reshape(len(gram), parts, width).sum(axis=2)
        np.add.at(sums, np.arange(start, start + len(gram)) // width, by_column)
    return clock() - begun, float(sums.sum())


JOBS = {"features": features, "matched": matched, "exact": exact, "plain": plain}


def run(job: str, *arguments) -> dict:
    """Run a job in a process of its own."""
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
    command = [sys.executable, __file__, "--job", json.dumps([job, *arguments])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def show(what: str, n: int, found: dict) -> None:
    wall, processor, peak = (found[name] for name in ("seconds", "cpu", "peak_mb"))
    print(
        f"{what:<34}{n:>10,}{wall:>9.2f} s{processor:>9.2f} s processor{peak:>7.0f} MB", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        job, *rest = json.loads(arguments.job)
        seconds, value = JOBS[job](*rest)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = {"seconds": seconds[0], "cpu": seconds[1], "peak_mb": peak, "value": float(value)}
        print(json.dumps(found))
        return
    sizes = (10_000, 100_000) if arguments.quick else (10_000, 100_000, 1_000_000)
    for kind in ("rff", "nystroem"):
        last = None
        for n in sizes:
            last = run("features", n, kind)
            show(f"fit, {kind}, 256 features", n, last)
            assert last["value"] < 0.2, "the estimate is nonsense"
        if not arguments.quick:
            met = last["seconds"] < 10 and last["peak_mb"] < 1000
            print(f"goal (10 s, 1 GB; wall time): {'met' if met else 'not met'}")
    for n in sizes:
        last = run("matched", n)
        show("fit, learned features, matched", n, last)
        assert last["value"] < 0.2, "the estimate is nonsense"
    for n in (10_000,) if arguments.quick else (10_000, 100_000):
        ours = run("exact", n, [0.02])
        show("exact sums in blocks, 1 bandwidth", n, ours)
        show(
            "exact sums in blocks, 5 bandwidths",
            n,
            run("exact", n, [0.02 * 2**k for k in range(5)]),
        )
        theirs = run("plain", n, [0.02])
        show("plain Gram in chunks, 1 bandwidth", n, theirs)
        assert abs(ours["value"] / theirs["value"] - 1) < 1e-9, "sums differ"
        print(
            f"plain over blocks: {theirs['seconds'] / ours['seconds']:.1f} "
            f"(processor {theirs['cpu'] / ours['cpu']:.1f})"
        )


if __name__ == "__main__":
    main()
