"""Neighbours with the same answers leave the same, and statistics move by what is charged."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.attacks._paired_fits import LEARNED
from tests.attacks._paired_kinds import EXCEPTIONS, EXCUSED, KINDS, pairs_of

from secretballot import PrivacyAccountant
from secretballot.mechanisms import GNMax, NoisyCounts, VectorSum

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

#: Neighbours of each kind in the long test, which makes 400 pairs of all.
N_PAIRS = 5
SLOW = {"logistic, kernel", "ensemble, labels", "ensemble, weighting", "ensemble, upsampling"}
#: Kinds of the short test, which makes 40 pairs with those of exceptions and planted errors.
QUICK = [name for name in KINDS if name not in SLOW][::4]


def worst_square(pairs):
    """Return the square of the greatest change as a part of its charge."""
    return max(square for pair in pairs for square in pair.squares.values())


def check(name, seeds, counts):
    """Compare a kind with neighbours; both rules hold."""
    pairs = list(pairs_of(KINDS[name], seeds))
    counts(f"pairs of {name}", len(pairs))
    counts(f"greatest change over charge of {name}", round(max(p.ratio for p in pairs), 4))
    assert [pair.differences for pair in pairs] == [[]] * len(pairs)
    assert worst_square(pairs) <= KINDS[name].most ** 2


@pytest.mark.quick
@pytest.mark.parametrize("name", QUICK)
def test_a_neighbour_leaves_the_same(name, counts):
    check(name, [list(KINDS).index(name)], counts)


@pytest.mark.parametrize("name", KINDS)
def test_neighbours_leave_the_same(name, counts):
    first = 100 + 7 * list(KINDS).index(name)
    check(name, range(first, first + N_PAIRS), counts)


def check_excused(kind, pairs):
    """Return whether traces differ; fail if one does that the exception does not allow."""
    differences = [each for pair in pairs for each in pair.differences]
    assert [d for d in differences if not re.match(EXCEPTIONS[kind.excused], d)] == []
    assert kind.excused == LEARNED or worst_square(pairs) <= 1
    return bool(differences)


@pytest.mark.quick
@pytest.mark.parametrize("excused", EXCEPTIONS)
def test_each_exception_is_needed(excused):
    kind = next(kind for kind in EXCUSED.values() if kind.excused == excused)
    assert any(check_excused(kind, [pair]) for pair in pairs_of(kind, range(N_PAIRS)))


@pytest.mark.parametrize("name", EXCUSED)
def test_exceptions_allow_no_more(name):
    assert check_excused(EXCUSED[name], list(pairs_of(EXCUSED[name], range(N_PAIRS))))


def planted(run):
    """Return a kind of fit with a fault; `run` gets what was left and the data."""
    kind = KINDS["logistic"]

    def faulty(desk, data):
        left = kind.run(desk, data)
        run(left.published[0], data)
        return left

    return replace(kind, run=faulty)


def keep_rows(model, data):
    model._rows = data.rows


def show_largest(model, data):
    model.largest_ = max(data.y)
    model.n_ones_ = sum(data.y)


def ask_again(model, data):
    if sum(data.y) % 2:
        model.score_private(data.X, data.targets, sigma=1e6)


def fail_at_a_row(model, data):
    if sum(data.y) % 2:
        raise ValueError("odd")


@pytest.mark.quick
@pytest.mark.parametrize("fault", [keep_rows, show_largest])
def test_planted_traces_are_found(fault):
    assert any(pair.differences for pair in pairs_of(planted(fault), range(N_PAIRS)))


@pytest.mark.parametrize("fault", [ask_again, fail_at_a_row])
def test_planted_answers_that_depend_on_a_row_are_found(fault):
    assert any(pair.differences for pair in pairs_of(planted(fault), range(4 * N_PAIRS)))


@pytest.mark.quick
def test_a_planted_note_of_private_rows_is_found(monkeypatch):
    release = PrivacyAccountant.release

    def noted(accountant, mechanism, counts, **options):
        note = {**(options.pop("note", None) or {}), "counts": np.ravel(counts).tolist()}
        return release(accountant, mechanism, counts, note=note, **options)

    monkeypatch.setattr(PrivacyAccountant, "release", noted)
    pairs = pairs_of(KINDS["score and confusion"], range(N_PAIRS))
    differences = next(pair.differences for pair in pairs if pair.ratio)
    assert any(difference.startswith("budget 0: entries") for difference in differences)


def weigh_half(self):
    """Charge for half of a person's weight."""
    object.__setattr__(self, "weight", self.weight / 2)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("mechanism", "name", "half", "kind"),
    [
        (GNMax, "__post_init__", weigh_half, "ensemble"),
        (NoisyCounts, "__post_init__", weigh_half, "score and confusion"),
        (VectorSum, "sensitivity", property(lambda self: self.diameter / 2), "quantiles"),
    ],
    ids=["votes", "counts", "sums"],
)
def test_half_of_a_sensitivity_is_found(mechanism, name, half, kind, monkeypatch):
    monkeypatch.setattr(mechanism, name, half)
    assert any(worst_square([pair]) > 1 for pair in pairs_of(KINDS[kind], range(N_PAIRS)))
