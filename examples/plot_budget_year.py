"""
PrivacyAccountant: a budget over a year
=======================================

An office decides in January what may be released about its people in a year. Every month it
spends a part; in August somebody asks for more. You will see the ledger fill, what the office
can prove at any time, and what happens when the budget is used up.
"""

# %%
# :Private: 37,222 people's records (UCI Adult), and whether each earns more than 50,000 dollars.
# :Public: 40 new records a month that come without the answer.
# :Protected: one person's record, over the whole year.
# :Budget: epsilon = 2, delta = 0.00001, spent on twelve months of labels, four measurements of how
#     good they are, and whatever else is asked.
#
# :term:`Epsilon <epsilon>` bounds how much likelier one record can make *everything released in
# the year together*: by a factor of exp(2) at most, except with a probability of about
# :term:`delta`. The year is acted out in some seconds, so the times that are recorded below are
# all of today.

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from secretballot import (
    BudgetExceededError,
    GNMax,
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    load_adult,
    score_private,
)

# %%
# January: the budget is opened
# -----------------------------
# A named :term:`ledger` is a file that outlives the program. It fixes the budget: opening it
# again, here or in another program, goes on with what is left. (This page keeps it in a folder
# that is deleted at the end. Keep yours.)

folder = tempfile.TemporaryDirectory()
ledger = Path(folder.name) / "office.ledger"
PrivacyAccountant(epsilon=2.0, delta=1e-5, ledger=ledger)
accountant = PrivacyAccountant.open(ledger)  # on any later day
accountant

# %%
# Teachers are trained once; that releases nothing. Each month they label the new records, with
# noise that the office settled in January.

adult = load_adult(complete_only=True)
order = np.random.default_rng(0).permutation(len(adult.target))
new, private = np.split(order, [8_000])
X, y = adult.data[private], adult.target[private]
teachers = PrivateTeacherEnsemble(
    DecisionTreeClassifier(max_depth=4),
    n_teachers=250,
    mechanism=GNMax(sigma=52),
    classes=[0, 1],
    accountant=accountant,
).fit(X, y)
a_month = accountant.price(teachers.mechanism, n_rows=40, n_columns=2)
print(f"40 labels take {a_month:.1%} of the budget, so twelve months take {12 * a_month:.0%}")

# %%
# Twelve months
# -------------
# Every quarter the office measures, on the private records, how good a simple rule is that it uses
# meanwhile ("yes" to whoever has thirteen years of schooling or more, and works 40 hours). In
# August a ministry wants 120 more labels. Before each step its price is asked, which costs
# nothing; what doesn't fit as a whole isn't begun.


def rule(X):
    """What the office says meanwhile: a fixed rule, so that it gives nothing away by itself."""
    schooling, hours = (adult.feature_names.index(n) for n in ("education_num", "hours_per_week"))
    return ((X[:, schooling] >= 13) & (X[:, hours] >= 40)).astype(int)


def label(n_rows):
    """Labels for so many new records."""
    return teachers.predict_private(adult.data[new[:n_rows]])


def measure():
    """How good the rule is, by the private records, with noise."""
    return score_private(accountant, y, rule(X), sigma=20)


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
spent, refused = [], []
for month in MONTHS:
    wishes = [("40 labels", 40, label)]
    if month in ("Mar", "Jun", "Sep", "Dec"):
        wishes.append(("a measurement", None, measure))
    if month == "Aug":
        wishes.append(("120 labels more", 120, label))
    for what, n_rows, ask in wishes:
        before = accountant.spent().share
        try:
            if n_rows is None:
                found = ask()
                print(f"{month}: the rule is right for about {found.accuracy:.1%}")
            else:
                accountant.price(teachers.mechanism, n_rows, n_columns=2)
                ask(n_rows)
            spent.append((month, what, accountant.spent().share - before))
        except BudgetExceededError as error:
            print(f"{month}: {what} REFUSED. {error}")
            refused.append((month, what))

# %%
# What is left would do for a measurement in December, and for no month of labels. The ledger says
# so to every program that asks: there is one door. (Asked without looking at the price, the
# teachers would have labelled as many of October's records as fit, and warned.)

accountant

# %%
# What the ledger says
# --------------------
# Anyone with the file can look at it, also while others spend. What follows is what ``secretballot
# ledger`` prints: first the year's entries, then whether any of them was altered, removed or cut
# off.


def command(*arguments):
    """Run the command line, and print what it says."""
    print("$ secretballot " + " ".join(arguments))
    program = [sys.executable, "-P", "-m", "secretballot", *arguments]
    done = subprocess.run(program, cwd=folder.name, capture_output=True, text=True, check=True)
    print(done.stdout.replace(folder.name, "."))


command("ledger", "show", "office.ledger")
command("ledger", "verify", "office.ledger")

# %%
# What the office signs
# ---------------------
# The statement says what was promised, what it was spent on, and what it rests on. It carries the
# digest of the last entry: whoever keeps the statement can tell if the ledger is changed
# afterwards.

accountant.statement()

# %%
# The year
# --------
# Prices depend on public numbers alone: how many labels, how much noise, how many measurements. So
# this picture is the same every time, and could have been drawn in January.

COLOURS = {"40 labels": "#0072B2", "a measurement": "#E69F00", "120 labels more": "#D55E00"}
figure, ax = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
total, reached = 0.0, {}
for month, what, share in spent:
    place = MONTHS.index(month)
    ax.bar(place, share, bottom=total, color=COLOURS[what], width=0.9)
    total += share
    reached[place] = total
for month, _ in refused:
    place = MONTHS.index(month)
    full = reached[max(earlier for earlier in reached if earlier < place)]
    ax.bar(place, a_month, bottom=full, color="none", edgecolor="#666666", hatch="//", width=0.9)
    ax.annotate("refused", (place, full + a_month + 0.01), ha="center", color="#666666")
for what, colour in COLOURS.items():
    ax.bar(0, 0, color=colour, label=what)
ax.axhline(1, color="black", linewidth=1, linestyle="--")
ax.annotate("the budget: epsilon = 2", (-0.4, 1.02), va="bottom")
ax.set_xticks(range(len(MONTHS)), MONTHS)
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set(ylim=(0, 1.15), ylabel="share of the year's budget spent")
ax.set_title("120 labels more in August, and the year ends early")
ax.legend(loc="center left", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Where to go on: :doc:`/guide/ledger` is about keeping such a file, backing it up, and what it
# complains of; :doc:`/guide/spending` about how to divide a budget. (The folder of this page goes,
# and the ledger with it.)

folder.cleanup()
