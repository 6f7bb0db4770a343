"""
PrivateParts: the table of a hospital group, which no machine holds
===================================================================

Each hospital of a group writes a Parquet file, and many patients have visits in several of them.
The files go to the workers of a Dask cluster, and never to one process. You will see the model
that comes out, and that a patient counts once, wherever the visits were.
"""

# %%
# :Private: 48,000 visits of some 15,000 patients in six hospitals, each with the patient's number.
#     The data is made up.
# :Public: 400 other visits, without their outcomes; the hospitals' names; and who is a patient, but
#     not what is known of them.
# :Protected: a patient, with all visits in all hospitals.
# :Budget: epsilon = 1, delta = 0.000001: quantiles, a model and its score.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one patient can make anything that is released:
# by a factor of exp(epsilon), 2.7 here, except with a probability of about :term:`delta`.

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.measures import private_quantiles
from secretballot.tables import PrivateParts

HOSPITALS = ["north", "river", "hill", "harbour", "park", "east"]
rng = np.random.default_rng(0)
home = rng.choice(6, 16_000)  # most visits of a patient are at one hospital
born = rng.integers(0, 90, 16_000)


def risk(age):
    """Log odds of coming back within a month: high for infants and the old."""
    return 1.6 * np.exp(-age / 4) + 2.2 / (1 + np.exp(-(age - 70) / 6)) - 1.2


def visits(patients):
    """Visits, with their outcomes."""
    n = len(patients)
    rows = pd.DataFrame({"age": born[patients], "days": rng.geometric(0.2, n).clip(max=60)})
    rows["ward"] = rng.choice(["surgery", "medicine", "children"], n)
    rows["returned"] = (risk(rows["age"]) + rng.logistic(size=n) > 0).astype(int)
    return rows.assign(patient=patients)


patients = rng.integers(0, 16_000, 48_000)
hospital = np.where(rng.random(48_000) < 0.7, home[patients], rng.choice(6, 48_000))
folder = TemporaryDirectory()
for number, name in enumerate(HOSPITALS):
    part = visits(patients[hospital == number])
    part.to_parquet(Path(folder.name) / f"{name}.parquet", index=False)
sorted(path.name for path in Path(folder.name).iterdir())

# %%
# The cluster
# -----------
# Here two workers in threads of this process; for a group,
# ``Client("tls://scheduler:8786")`` and workers where the files are. The parts have a column of
# outcomes and one of owners, so ``fit`` takes neither.

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
)
client = Client(cluster)
parts = PrivateParts.from_parquet(folder.name, y="returned", owners="patient", engine=client)
parts

# %%
# Quantiles, a model, a score
# ---------------------------
# Before anything is counted, all visits of a patient are brought together by files in a scratch
# folder. Then workers add up exact sums, so that neither the order of tasks nor a lost worker
# changes what is released.

accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6, unit="owner")
stay = private_quantiles(parts, bounds={"days": (0, 60)}, epsilon=0.2, accountant=accountant)
pool = visits(rng.integers(0, 16_000, 400))[["age", "days", "ward"]]
model = PrivateLogisticRegression(classes=[0, 1], epsilon=0.8, accountant=accountant)
model.fit(parts, X_public=PublicData(pool))
score = model.score_private(parts, share=0.05)
client.close()
cluster.close()
folder.cleanup()
stay

# %%
# The score is of the patients of all parts too:

score

# %%
# What came out
# -------------
# Left, in how many hospitals patients have visits: with a budget for each hospital, all of these
# would add up for a patient. Right, the effect of age that the model learned, with two standard
# errors, beside that from which the data was made up.

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
times = pd.Series(hospital).groupby(patients).nunique().value_counts().sort_index()
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), width_ratios=[1, 1.8], layout="constrained"
)
left.bar(times.index, times, color=GREY)
left.set(xlabel="hospitals with visits of a patient", ylabel="patients")
left.set_xticks(times.index)

age = next(term for term in model.terms() if term.name == "age")
ends = np.concatenate([[0.0], age.edges, [90.0]])
true_effect = [risk(np.linspace(low, high, 50)).mean() for low, high in pairwise(ends)]
true_effect = np.array(true_effect) - np.mean(true_effect)
right.stairs(true_effect, ends, color=ORANGE, linewidth=2, linestyle="--", baseline=None)
effect, error = age.effect[:-1], age.error[:-1]  # without that of missing cells
right.stairs(effect, ends, color=BLUE, linewidth=2.5, baseline=None)
right.stairs(
    effect + 2 * error,
    ends,
    baseline=effect - 2 * error,
    fill=True,
    color=BLUE,
    alpha=0.2,
)
right.annotate(
    "released", (72, effect[-4]), (-30, 26), color=BLUE, ha="right", textcoords="offset points"
)
right.annotate(
    "made up from", (6, true_effect[0]), (6, 0), color=ORANGE, textcoords="offset points"
)
right.set(xlabel="age", ylabel="effect on the log odds of coming back")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle("One model of six hospitals, in which each patient counts once")
plt.show()

# %%
# The budget paid for all of it, once for the group:

accountant
