"""A ledger holds what was released at what cost: nothing of the votes, nor of the answers."""

import itertools
import os
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ledger._guard import Mark, slot_bytes
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._transfer import export
from secretballot.mechanisms import ConfidentGNMax, GNMax

# Counts that occur nowhere else, neither as numbers nor by accident in text.
STRANGE = [[917453, 481207, 733019], [655943, 271829, 888887]]


def forms(number):
    """What a number may look like in a file."""
    yield str(number).encode()
    for kind in ("<f8", ">f8", "<f4", "<i8", ">i8", "<i4", ">i4"):
        yield np.array(number, dtype=kind).tobytes()


def found(content, numbers):
    return [number for number in numbers if any(form in content for form in forms(number))]


@pytest.mark.parametrize(
    "mechanism",
    [
        GNMax(sigma=40000.0),
        ConfidentGNMax(sigma=40000.0, threshold=600000, sigma_threshold=40000.0),
    ],
)
def test_no_vote_is_in_the_file(tmp_path, mechanism):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path, order="renyi")
    accountant.release(mechanism, STRANGE)
    numbers = list(itertools.chain(*STRANGE))
    gaps = [a - b for row in STRANGE for a, b in itertools.permutations(row, 2)]
    content = path.read_bytes()
    assert found(content, [*numbers, *gaps]) == []
    # The same search does find what is there: the noise is a public parameter.
    assert found(content, [40000])
    assert found(content + str(numbers[0]).encode(), numbers)


def test_equal_outcomes_leave_equal_entries(tmp_path):
    """Votes that lead to the same answers can't be told apart by the ledger."""
    contents, answers = [], []
    for name, counts in (("a", [[90, 5, 5], [3, 90, 7]]), ("b", [[60, 20, 20], [20, 75, 5]])):
        accountant = PrivacyAccountant(
            1000.0, 1e-5, ledger=tmp_path / name, allow_seeded=True, order="renyi"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            answers.append(
                accountant.release(
                    ConfidentGNMax(sigma=1.0, threshold=40, sigma_threshold=1.0),
                    counts,
                    random_state=0,
                ).tolist()
            )
        (entry,) = export(Ledger.open(tmp_path / name))["entries"]
        for where_and_when in ("time", "previous", "digest"):
            entry.pop(where_and_when)
        contents.append(entry)
    assert answers == [[0, 1]] * 2
    assert contents[0] == contents[1]


def test_entries_have_no_field_for_answers(tmp_path):
    """Whoever adds one has to say here why it is not private."""
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.ledger", order="renyi")
    accountant.release(GNMax(sigma=40.0), [[9, 4, 1]])
    (entry,) = export(Ledger.open(tmp_path / "budget.ledger"))["entries"]
    assert set(entry) == {
        *("sequence", "time", "previous", "digest", "checkpoint"),  # its place
        *("mechanism", "n_rows", "seeded", "note"),  # what was released
        *("scope_id", "scope_epsilon", "charges"),  # at what cost
        "reservation",  # out of what was paid for before, and how many rows that leaves
        "child",  # out of whose part of the budget
    }
    assert set(entry["charges"][0]) == {"group", "delta", "curve"}


def test_only_the_mark_stays_beside_a_ledger(tmp_path):
    """The journal held pages of the ledger, and goes with the commit; the mark stays."""
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.ledger", order="renyi")
    accountant.release(GNMax(sigma=40.0), [[9, 4, 1]])
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["budget.ledger", "budget.ledger.mark"]
    header, (entry,) = accountant._ledger.header(), accountant.entries()
    # Beside the ledger's number a number of entries and a digest, and what is made of these.
    marks = Mark(header.ledger_id, 1, entry.digest), Mark(header.ledger_id, 0, header.digest)
    slots = b"".join(map(slot_bytes, marks, (3, 2)))
    assert (tmp_path / names[1]).read_bytes() == slots


@pytest.mark.skipif(os.name != "posix", reason="files have other permissions here")
def test_files_are_for_their_owner_only(tmp_path):
    before = os.umask(0)
    try:
        accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.ledger", order="renyi")
        accountant.release(GNMax(sigma=40.0), [[9, 4, 1]])
        temporary = PrivacyAccountant(1.0, 1e-5, order="renyi")
        unnamed = Path(temporary._ledger.name)
    finally:
        os.umask(before)
    files = [*tmp_path.iterdir(), unnamed, unnamed.with_name(f"{unnamed.name}.mark")]
    assert [stat.S_IMODE(each.stat().st_mode) for each in files] == [0o600] * 4
    assert stat.S_IMODE(unnamed.parent.stat().st_mode) == 0o700
