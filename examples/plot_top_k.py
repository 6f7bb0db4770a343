"""The busiest places of each day, from phones, and why the gap says how many.

A phone company counts how many of its customers were at each of 5,000 places of a city, every day
of a week, and wants to say which places were busiest. The list of places is public; who was where
is not. A customer may be at any number of places, so that one more customer may change every count
by one. A week has one budget; each day takes a seventh of what there is.

How many places are worth a mention differs from day to day: a market, a match, a quiet Sunday.
`private_top_k` without a number releases the places above the largest gap between neighbouring
counts. Where the gap is wide the set is the same whoever of the customers is missing, and is
released as it is: it costs the same for three places and for thirty. Drawing them one after the
other costs more for each.

Run it from the root of the repository; the picture goes to output/top_k.png. It takes some seconds.
"""

from pathlib import Path

import numpy as np

from secretballot import PrivacyAccountant, calibrate, private_top_k
from secretballot.mechanisms import ExponentialTopK, StableTopK

PICTURE = Path("output") / "top_k.png"
EPSILON, DELTA = 2.0, 1e-6
#: What each day may spend. Budgets add up as squares, about: that is a seventh.
EACH = 0.36 * EPSILON
DAYS = {"Mon": 12, "Tue": 12, "Wed": 31, "Thu": 12, "Fri": 18, "Sat": 46, "Sun": 4}
N_PLACES = 5_000


def visitors():
    """Visitors of each day by place: some places stand out, by more on some days than others."""
    rng = np.random.default_rng(1)
    names = [f"place {number:04d}" for number in range(N_PLACES)]
    usual = rng.gamma(0.5, 120.0, size=N_PLACES)
    counts = {}
    for day, n_busy in DAYS.items():
        busy = rng.choice(N_PLACES, n_busy, replace=False)
        expected = np.minimum(usual, 700)
        expected[busy] = rng.uniform(1_400, 4_000, n_busy)
        counts[day] = dict(zip(names, rng.poisson(expected).tolist(), strict=True))
    return counts


def busiest(counts):
    """Places and their visitors, the busiest first."""
    return sorted(counts.items(), key=lambda each: -each[1])


def released(counts):
    """The sets of a week, on one budget."""
    accountant = PrivacyAccountant(
        EPSILON,
        DELTA,
        unit="voter",
        relation="add_remove",
        approximation_delta=DELTA / 2,
    )
    found = {
        day: private_top_k(of_day, accountant=accountant, epsilon=EACH, k_max=100)
        for day, of_day in counts.items()
    }
    return found, accountant


def gaps_needed(sizes):
    """The gap that sets of so many places need, on the budget of a day, drawn or tested."""

    def drawn(k):
        scale = calibrate(
            lambda noise: ExponentialTopK(k=k, epsilon=1 / noise, relation="add_remove"),
            epsilon=EACH,
            delta=DELTA / 7,
            n_queries=1,
        )
        # One of the places that are left out beats the last of the k now and then: in a tenth of
        # all days by this much.
        return np.log(10 * k * (N_PLACES - k)) / scale.epsilon

    test = calibrate(
        lambda noise: StableTopK(
            rho=1 / noise**2, delta_t=DELTA / 28, k_max=100, relation="add_remove"
        ),
        epsilon=EACH,
        delta=DELTA / 7,
        n_queries=1,
        approximation_delta=DELTA / 7 / 2,
    )
    # One gap among a hundred places, wider and wider.
    wide, rng = np.arange(10, 600, 2), np.random.default_rng(0)
    places = np.full((400, 102), 100.0)
    right = []
    for gap in wide:
        places[:, 0] = 100 + gap
        right.append((test.sample(places, rng).sum(axis=1) == 1).mean())
    enough = wide[int(np.argmax(np.array(right) > 0.9))]
    return [drawn(k) for k in sizes], [enough for _ in sizes]


def draw(counts, found):
    """The gap of one day, what was found each day, and what sets of many places need."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    day = "Wed"
    ordered = np.array([visitors for _, visitors in busiest(counts[day])[:60]])
    n_busy = len(found[day].items) if found[day].released else int(np.argmax(-np.diff(ordered))) + 1
    ranks = np.arange(1, len(ordered) + 1)
    left.bar(ranks, ordered, color=np.where(ranks <= n_busy, "tab:orange", "tab:gray"))
    left.annotate(
        f"the largest gap:\n{ordered[n_busy - 1] - ordered[n_busy]:,.0f} visitors",
        (n_busy + 0.5, (ordered[n_busy - 1] + ordered[n_busy]) / 2),
        (n_busy + 8, ordered[0] * 0.7),
        arrowprops={"arrowstyle": "->"},
    )
    left.set(xlabel="places, the busiest first", ylabel="visitors", title=f"the gap on {day}")
    sizes = [len(one.items) if one.released else 0 for one in found.values()]
    place = np.arange(len(DAYS))
    middle.bar(place - 0.2, list(DAYS.values()), 0.38, color="tab:gray", label="that stand out")
    middle.bar(place + 0.2, sizes, 0.38, color="tab:orange", label="released")
    middle.set_xticks(place, list(DAYS))
    middle.set(ylabel="places", title=f"a week for epsilon {EPSILON:g}")
    middle.legend(fontsize="small")
    sizes = [1, 2, 3, 5, 10, 20, 50, 100]
    one_by_one, at_once = gaps_needed(sizes)
    right.plot(sizes, one_by_one, marker="o", label="drawn, one after the other")
    right.plot(sizes, at_once, marker="o", label="a stable set")
    right.set(
        xscale="log",
        ylim=(0, None),
        xlabel="places in the set",
        ylabel="gap that it needs, in visitors",
        title="right on nine days of ten, for a day's budget",
    )
    right.legend(fontsize="small")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main():
    counts = visitors()
    found, accountant = released(counts)
    for day, one in found.items():
        ordered = busiest(counts[day])
        top = {name for name, _ in ordered[: DAYS[day]]}
        said = "nothing was released" if not one.released else f"{len(one.items)} places"
        right = "" if not one.released else f", {len(top & set(one.items))} of them rightly"
        gap = ordered[DAYS[day] - 1][1] - ordered[DAYS[day]][1]
        print(f"{day}: {DAYS[day]:2d} stand out by {gap:4.0f} visitors; {said}{right}")
    print(accountant)
    draw(counts, found)
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
