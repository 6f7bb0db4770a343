"""Kept chunks of rows: a task that is run twice does not change what others read."""

import numpy as np
import pytest
from tests.distributed._parts import OWNER, TARGET, split, table

from secretballot.tables import PrivateParts, _tasks
from secretballot.tables._private_rows import PrivateRows

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def same(value):
    return value


def test_a_second_run_that_is_killed_leaves_the_file_of_the_first(tmp_path, monkeypatch):
    split(table(), tmp_path / "parts")
    parts = PrivateParts(tmp_path / "parts", y=TARGET, owners=OWNER, n_buckets=2)
    rows = PrivateRows.of_parts(parts, ["b"], TARGET).read(lambda chunk: chunk.table["b"])
    kept, _ = rows.keep(np.asarray, same, same)
    mapped = kept.load(0)

    def cut_off(value, path):
        with open(path, "wb") as file:
            file.write(b"half of")
        raise MemoryError

    monkeypatch.setattr(_tasks.joblib, "dump", cut_off)
    with pytest.raises(MemoryError):
        kept.load.__self__.store(None, 0)
    for read in (mapped, kept.load(0)):
        np.testing.assert_array_equal(read, rows.load(0))
    rows.close()
