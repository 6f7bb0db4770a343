"""Files of one-hot rows: a task that is run twice does not change what others read."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from secretballot.linear import _private_source
from secretballot.linear._private_source import StoredRows


def stored_rows(n_rows=2_000):
    return StoredRows(
        codes=np.arange(n_rows, dtype=np.uint16),
        ends=None,
        weights=None,
        n_features=n_rows,
        targets=csr_array((n_rows, 1)),
        shares=np.ones(n_rows),
        total=float(n_rows),
        n_numbers=1,
        weight_bits=0,
    )


def test_a_second_run_that_is_killed_leaves_the_file_of_the_first(tmp_path, monkeypatch):
    path, rows = str(tmp_path / "0.rows"), stored_rows()
    rows.save(path)
    mapped = StoredRows.load(path)

    def cut_off(value, path):
        with open(path, "wb") as file:
            file.write(b"half of")
        raise MemoryError

    monkeypatch.setattr(_private_source.joblib, "dump", cut_off)
    with pytest.raises(MemoryError):
        rows.save(path)
    for read in (mapped, StoredRows.load(path)):
        np.testing.assert_array_equal(read.codes, rows.codes)
