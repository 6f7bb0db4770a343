"""Cells of parts that no data frame can hold are missing, and raise no error."""

import datetime

import numpy as np
import pytest

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.quantification import publish_proportions
from secretballot.tables import PrivateParts

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")

N = 300
Y = np.arange(N) % 2
COLUMNS = {
    "dates": pa.array([*range(N - 1), 10**8], pa.int32()).cast(pa.date32()),
    "texts": pa.Array.from_buffers(
        pa.string(), N, pa.array([b"u", b"v"] * (N // 2 - 1) + [b"u", b"\xff"]).buffers()
    ),
}


def parts(folder, column, **how):
    table = {"x": np.arange(N) / N, "c": column, "y": Y, "person": np.arange(N)}
    folder.mkdir()
    pq.write_table(pa.table(table), folder / "0.parquet")
    return PrivateParts(folder, **{"y": "y", "owners": "person", **how})


def budget():
    return PrivacyAccountant(5.0, 1e-5, unit="owner")


def fit(rows, column):
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=budget(), random_state=0, check_public_rows=False
    )
    pool = pa.table({"x": np.linspace(0.01, 0.99, 40), "c": column.slice(0, 40)}).to_pandas()
    return model.fit(rows, X_public=PublicData(pool)).coef_


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.filterwarnings("ignore")
def test_cells_without_an_object_of_python(tmp_path, name):
    column = COLUMNS[name]
    missing = column.take(pa.array([*range(N - 1), None]))
    answers = [
        fit(parts(tmp_path / folder, given), column)
        for folder, given in (("given", column), ("missing", missing))
    ]
    np.testing.assert_array_equal(*answers)


@pytest.mark.filterwarnings("ignore")
def test_times_of_day_that_are_none(tmp_path):
    column = pa.array([*range(N - 1), 2**40], pa.int64()).cast(pa.time64("us"))
    assert np.isfinite(fit(parts(tmp_path / "parts", column), column)).all()


def test_labels_without_an_object_of_python_are_of_no_class(tmp_path):
    rows = parts(tmp_path / "parts", COLUMNS["dates"], y="c", owners=None, groups="y")
    days = [datetime.date(1970, 1, day) for day in (1, 2)]
    with pytest.raises(ValueError, match="labels that are none of classes"):
        publish_proportions(rows, days, epsilon=1e6, delta=0.0)
