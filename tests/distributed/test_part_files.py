"""Files of parts: which are taken, the types of their columns, and errors that quote no cell."""

import decimal
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests._programs import run_python
from tests.distributed._parts import OWNER, TARGET, RepeatingEngine, budget, split, table

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData, private_top_k
from secretballot.tables import PrivateParts
from secretballot.tables._buckets import Buckets

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

SECRET = "Mrs Novak"


def parts(folder, **how):
    return PrivateParts(folder, **{"y": TARGET, "owners": OWNER, "n_buckets": 2, **how})


@pytest.fixture
def folder(tmp_path):
    split(table(600, 200), tmp_path / "parts")
    return tmp_path / "parts"


def write(folder, index, column, values, kind=None):
    """Write a column of a part anew."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"part-{index}.parquet"
    rows = pq.read_table(path)
    cells = pa.array(values(rows[column]) if callable(values) else values, type=kind)
    rows = rows.set_column(rows.column_names.index(column), column, cells)
    pq.write_table(rows, path)


def frame_of(folder, column, **how):
    """Return a column as the tasks of buckets read it."""
    buckets = Buckets.of(parts(folder, **how), [column], bytes(16))
    try:
        return pd.concat(list(buckets.map_rows(lambda rows: rows.frame)))[column]
    finally:
        buckets.delete()


def test_hidden_files_are_no_parts(folder):
    for name in (".part-0.parquet", "_part-0.parquet", "._part-0.parquet"):
        shutil.copy(folder / "part-0.parquet", folder / name)
    assert parts(folder).n_parts == 4


def test_a_file_that_is_named_twice(folder):
    """A label would be published twice for the price of one."""
    (folder / "link.parquet").symlink_to(folder / "part-2.parquet")
    twice = [*sorted(folder.glob("part*")), folder / ".." / "parts" / "part-1.parquet"]
    for paths, name in ((folder, "part-2"), (twice, "part-1")):
        with pytest.raises(ValueError, match=f"paths names .*{name}.parquet' twice"):
            parts(paths)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"y": pd.Series([SECRET])}, "y is, or holds, a Series: give the name of a column"),
        ({"y": [0, 1]}, "y is, or holds, a int: .* or a list of names"),
        ({"y": None}, "y is, or holds, a NoneType"),
        ({"owners": np.array([SECRET])}, "owners is, or holds, a ndarray"),
        ({"groups": [SECRET]}, "groups is, or holds, a list: give the name of a column of the"),
        ({"budgets": [SECRET]}, "budgets is, or holds, a list"),
        ({"n_buckets": 2.5}, "n_buckets=2.5 must be an integer"),
        ({"owner_ids": []}, "owner_ids is a list, and no list with entries"),
        ({"owner_ids": iter([1])}, "owner_ids is a list_iterator, and no list with entries"),
        ({"owner_ids": [1, None]}, "owner_ids is no list of owners' ids: owners.1. is missing"),
        ({"owner_ids": SECRET.split()[0]}, "owner_ids is a str, and no list with entries"),
        ({"scratch": "no/such/folder"}, "scratch='no/such/folder' is no folder that can be"),
    ],
)
def test_arguments_that_are_refused(how, message, folder):
    with pytest.raises(ValueError, match=message) as error:
        parts(folder, **how)
    assert SECRET not in str(error.value)
    assert "NOT FOR PUBLICATION" not in str(error.value)  # nothing of it is private


def test_rows_given_as_paths_are_not_quoted():
    with pytest.raises(ValueError, match="paths: 'name' is no file") as error:
        parts(pd.DataFrame({"name": [SECRET]}))
    assert SECRET not in str(error.value)


def test_a_column_that_is_there_twice(folder):
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "part-1.parquet")
    pq.write_table(rows.append_column("a", rows["b"]), folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part 1 \('part-1.parquet'\) has 2 columns 'a'"):
        parts(folder)


def test_types_are_those_of_all_parts(folder):
    """No part alone decides, and no bucket: one row would give others another type."""
    import pyarrow as pa

    write(folder, 0, "b", [None] * 150, pa.null())
    write(folder, 1, "b", lambda cells: [decimal.Decimal(int(cell)) for cell in cells.to_pylist()])
    write(folder, 2, "c", lambda cells: cells.combine_chunks().dictionary_encode())
    kinds = {frame_of(folder, "b", n_buckets=n).dtype for n in (1, 7)}
    assert kinds == {np.dtype(float)}
    assert frame_of(folder, "c").dtype == "str"
    write(folder, 3, "b", [SECRET] * 150)
    with pytest.raises(ValueError, match=r"part 3 .* of another type .*: string instead of double"):
        parts(folder)


def test_numbers_that_a_common_type_does_not_hold(folder):
    write(folder, 1, "b", lambda cells: [2**60 + int(cell) for cell in cells.to_pylist()])
    with pytest.raises(ValueError, match="part 1: the column 'b' has cells that are no double"):
        frame_of(folder, "b")


def test_a_part_whose_type_changed_meanwhile(folder):
    import pyarrow as pa

    private = parts(folder, scratch=folder.parent)
    write(folder, 1, "b", [SECRET] * 150, pa.string())
    with pytest.raises(ValueError, match="part 1: the column 'b' has cells that") as error:
        Buckets.of(private, ["b"], bytes(16))
    assert SECRET not in str(error.value)
    assert [path.name for path in folder.parent.iterdir()] == ["parts"]


def counts_of_items(folder, rows, record):
    """Return the counts of items that the accountant is asked to release."""
    split(rows, folder)
    record.clear()
    accountant = PrivacyAccountant(
        9.0, 1e-5, unit="owner", relation="add_remove", approximation_delta=5e-6
    )
    private = PrivateParts(folder, y="item", owners=OWNER, n_buckets=3)
    private_top_k(private, 1, accountant=accountant, domain="unknown", max_items=9, share="rest")
    return record[0].ravel()


def test_a_missing_item_changes_no_item_of_others(tmp_path, monkeypatch):
    """Floats would make equal ones of whole numbers beyond 2**53 in the whole bucket."""
    record, release = [], PrivacyAccountant.release

    def recorded(self, mechanism, counts, **how):
        record.append(np.array(counts))
        return release(self, mechanism, counts, **how)

    monkeypatch.setattr(PrivacyAccountant, "release", recorded)
    rows = table(600, 200)
    rows["item"] = (2**60 + rows.index % 4).astype("Int64")
    first = counts_of_items(tmp_path, rows, record)
    rows.loc[rows.index[7], "item"] = pd.NA
    again = counts_of_items(tmp_path, rows, record)
    assert len(first) == 4
    assert np.abs(first - again).sum() <= 1


def test_whole_numbers_with_missing_cells_are_read_as_in_memory(folder):
    rows = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    rows = split(rows.assign(b=rows["b"].where(rows["b"] != 3).astype("Int64")), folder)
    pool = PublicData(table(200, seed=9)[["a", "b", "c"]])
    fitted = []
    in_memory = rows[["a", "b", "c"]], rows[TARGET], {"owners": rows[OWNER]}
    for X, y, how in (in_memory, (parts(folder), None, {})):
        model = PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)
        with pytest.warns(UserWarning, match="Noise drawn with random_state"):
            fitted.append(model.fit(X, y, X_public=pool, **how).coef_)
    np.testing.assert_array_equal(*fitted)


PERIODS = """
import sys
from secretballot.tables import PrivateParts
from secretballot.tables._buckets import Buckets
parts = PrivateParts(sys.argv[1], y="outcome", owners="person", scratch=sys.argv[2])
buckets = Buckets.of(parts, ["c"], bytes(16))
print({str(kind) for kind in buckets.map_rows(lambda rows: rows.frame["c"].dtype)})
"""


def test_periods_in_a_process_that_made_none(folder):
    for path in folder.glob("*.parquet"):
        rows = pd.read_parquet(path)
        rows["c"] = pd.PeriodIndex(["2020-01"] * len(rows), freq="M")
        rows.to_parquet(path, index=False)
    done = run_python("-c", PERIODS, folder, folder.parent)
    assert done.stdout.strip() == "{'period[M]'}", done.stderr


def test_a_list_without_any_owner_of_the_rows(folder):
    accountant = budget()
    model = PrivateLogisticRegression(classes=[0, 1], accountant=accountant)
    pool = PublicData(table(200, seed=9)[["a", "b", "c"]])
    with pytest.raises(ValueError, match="owner_ids lists no owner of any row"):
        model.fit(parts(folder, owner_ids=range(5_000, 5_400)), X_public=pool)
    assert not accountant.entries()


def test_scratch_that_a_worker_does_not_see(folder):
    class Elsewhere(RepeatingEngine):
        """Engine whose workers have other folders than the client."""

        def map(self, function, n_tasks):
            path = Path(function.args[0])
            away = path.rename(f"{path}.away")
            result = function(0)
            away.rename(path)
            yield result

    private = parts(folder, engine=Elsewhere())
    with pytest.raises(ValueError, match="part 0: a worker could not read scratch"):
        Buckets.of(private, ["a"], bytes(16))
