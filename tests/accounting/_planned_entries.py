"""Comparison of a fit's entries in the ledger with its plan."""

import json
from collections import defaultdict

import pytest

from secretballot.accounting._protocol import describe
from secretballot.ledger._budget import by_level


def check_entries(accountant, plan, price, n_before=0):
    """Compare the entries of one fit with its plan, and their charge with its price.

    Everything was paid for first, in the order of the plan, and nothing else was; each release was
    drawn from what was paid under its name. The charge is the price, less refunds.
    """
    entries = accountant.entries()[n_before:]
    events = [entry.reservation and entry.reservation.event for entry in entries]
    paid = entries[: events.count("reserve")]
    assert set(events[: len(paid)]) == {"reserve"}
    assert [json.loads(entry.note)["release"] for entry in paid] == [each.name for each in plan]
    names = {}
    for entry, release in zip(paid, plan, strict=True):
        assert json.loads(entry.mechanism) == json.loads(json.dumps(describe(release.mechanism)))
        assert entry.reservation.plans == ((release.n_rows, None),)
        names[entry.reservation.id] = release.name
    assert len({entry.scope_id for entry in entries}) == 1
    n_drawn, refunds = defaultdict(int), []
    for entry in entries[len(paid) :]:
        assert entry.reservation, "a release outside of the plan"
        name = names[entry.reservation.id]
        if entry.reservation.event == "settle":
            refunds.append(entry.charges)
            continue
        assert entry.is_release
        assert not entry.charges
        assert json.loads(entry.note)["release"] == name
        assert json.loads(entry.mechanism) == json.loads(json.dumps(describe(plan[name].mechanism)))
        n_drawn[name] += entry.n_rows
    assert len(refunds) == len(plan)
    assert all(n_drawn[release.name] <= release.n_rows for release in plan)
    if all(n_drawn[release.name] == release.n_rows for release in plan):
        for level, spent in by_level(accountant.spent()).items():
            assert spent.share == pytest.approx(by_level(price)[level], rel=1e-9)
    else:
        for level, spent in by_level(accountant.spent()).items():
            assert spent.share < by_level(price)[level]
    return dict(n_drawn)
