"""Histograms of the top-k benchmarks, and how much of the true top was found.

Check-ins are filtered subsets of the published ones; `scaled` repeats every person until there are
as many as in the papers (51,406 in Brightkite, 3,376 in Foursquare's New York and Tokyo), so that
gaps are about as wide as theirs.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Counts = NDArray[np.int64]
CHECKINS = ("brightkite", "foursquare_nyc", "gowalla")
#: People in our subsets, and how often each is repeated to have as many as the papers.
N_PEOPLE = {"brightkite": 5_766, "foursquare_nyc": 1_083, "gowalla": 8_685}
TIMES = {"brightkite": 9, "foursquare_nyc": 3}
FIRST_DAY = "2020-03-12"


def data_file(name: str) -> Path | None:
    """Where a file of $SECRETBALLOT_DATA, or of the folder beside the project, is, if it is."""
    named = os.environ.get("SECRETBALLOT_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    path = folder / name
    return path if path.exists() else None


def checkins(name: str) -> Counts | None:
    """People who were at each place, in an order that says nothing; None where the set is not."""
    path = data_file("checkins.npz")
    if path is None:
        return None
    return np.load(path)[f"{name}_users_per_location"].astype(np.int64)


def scaled(name: str) -> tuple[Counts, int] | None:
    """Counts and people of a set with everybody repeated; None where the set is not."""
    counts = checkins(name)
    return None if counts is None else (counts * TIMES[name], N_PEOPLE[name] * TIMES[name])


def covid(n_days: int = 40, cumulative: bool = False) -> Counts | None:
    """Cases by day from 12 March 2020 and state, shape (n_days, 55); None without the file.

    The file is cumulative. New cases of the day are its differences, since one person is at most
    one case of one day; a few corrections that went below zero are taken as zero.
    """
    path = data_file("us_covid_states_2020-03_05.csv.gz")
    if path is None:
        return None
    stored = pd.read_csv(path)
    table = stored.pivot(index="date", columns="state", values="cases").fillna(0)
    days = table if cumulative else table.diff().clip(lower=0)
    return days.loc[FIRST_DAY:].to_numpy(dtype=np.int64)[:n_days]


def recall(found: Collection[int], counts: Counts, k: int) -> float:
    """Share of the true top k that was found; whatever ties with the last of them counts."""
    if not len(found):
        return 0.0
    least = np.partition(counts, -k)[-k]
    return float((counts[np.fromiter(found, dtype=np.intp)] >= least).sum() / k)
