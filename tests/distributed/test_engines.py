"""Dask, also with killed workers, Spark and joblib: the same bits, and nothing left on disk."""

import json
import os
import shutil
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests._programs import python_environment, run_python
from tests.distributed._parts import OWNER, TARGET, budget, public_rows, split, table

from secretballot import PrivateLogisticRegression, PrivateTeacherEnsemble, PublicData
from secretballot.tables import PrivateParts
from secretballot.tables._buckets import Buckets

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Noise drawn with random_state"),
    # Dask warns on a busy machine; as an error in one of its threads it would stop the cluster.
    pytest.mark.filterwarnings("ignore:Creating scratch directories is taking"),
]

PHASES = ("exchange", "training", "voting", "round")


def on_dask(folder, scratch, *phases):
    """Run both estimators on a cluster of its own, whose workers are killed in some phases."""
    scratch.mkdir(exist_ok=True)
    program = ("-m", "tests.distributed._cluster", str(folder), str(scratch), *phases)
    done = run_python(*program, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "parts"
    split(table(), folder)
    return folder


@pytest.fixture(scope="module")
def in_memory(folder):
    """Return what both estimators release of the same rows in memory."""
    rows = pd.concat(pd.read_parquet(path) for path in sorted(folder.glob("*.parquet")))
    rows = rows.reset_index(drop=True)
    pool = public_rows()
    model = PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)
    X = rows.drop(columns=[TARGET, OWNER])
    model.fit(X, rows[TARGET], X_public=PublicData(pool), owners=rows[OWNER])
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=3),
        n_teachers=30,
        classes=[0, 1],
        reservation=10,
        accountant=budget(),
        random_state=0,
    )
    numbers = pool[["a", "b"]].fillna(0)
    X = X[["a", "b"]]
    ensemble.fit(X, rows[TARGET], X_public=PublicData(numbers), owners=rows[OWNER])
    return {
        "coef": model.coef_.ravel().view(np.int64).tolist(),
        "labels": ensemble.pool_labels_.labels.tolist(),
        "later": ensemble.predict_private(numbers[:10]).labels.tolist(),
        "spent": [repr(each.accountant.spent()) for each in (model, ensemble)],
    }


def test_dask_with_workers_killed_in_all_phases(folder, in_memory, tmp_path):
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    here = on_dask(folder, tmp_path / "scratch", *PHASES)
    assert here.pop("n_killed") == len(PHASES)
    assert here.pop("left") == []
    assert here == in_memory


@pytest.mark.slow
@pytest.mark.parametrize("time", range(10))
@pytest.mark.parametrize("phase", PHASES)
def test_dask_with_a_worker_killed_in_one_phase(phase, time, folder, in_memory, tmp_path):
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    here = on_dask(folder, tmp_path / "scratch", phase)
    assert here.pop("n_killed") == 1
    assert here.pop("left") == []
    assert here == in_memory


@pytest.fixture(scope="module")
def spark():
    """Return a session of Spark on this machine, through Spark Connect where it is installed."""
    sql = pytest.importorskip("pyspark.sql", reason="the spark extra is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java for Spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = python_environment()["PYTHONPATH"]
    loopback = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    builder = sql.SparkSession.builder.config(map=loopback)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that hold from the start only
        try:
            session = builder.remote("local[2]").getOrCreate()
        except ImportError:
            session = builder.master("local[2]").getOrCreate()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark(spark, folder, in_memory, tmp_path):
    frame = spark.read.parquet(str(folder))
    parts = PrivateParts.from_spark(frame, y=TARGET, owners=OWNER, scratch=tmp_path, n_buckets=3)
    model = PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)
    model.fit(parts, X_public=PublicData(public_rows()))
    assert model.coef_.ravel().view(np.int64).tolist() == in_memory["coef"]
    parts.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_dask_frame(folder, in_memory, tmp_path):
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    dask = pytest.importorskip("dask.dataframe", reason="dask has no data frames here")
    from distributed import Client

    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        frame = dask.read_parquet(str(folder))
        parts = PrivateParts.from_dask(frame, y=TARGET, owners=OWNER, scratch=tmp_path)
        model = PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)
        model.fit(parts, X_public=PublicData(public_rows()))
        assert parts._engine.client is client
    assert model.coef_.ravel().view(np.int64).tolist() == in_memory["coef"]
    parts.close()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def frame():
    """Return a Dask frame of twelve partitions, whose texts sort otherwise than their numbers."""
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    dask = pytest.importorskip("dask.dataframe", reason="dask has no data frames here")
    return dask.from_pandas(table(600, 200), npartitions=12)


@pytest.fixture
def client():
    """Return a client in this process that is not Dask's default."""
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    with distributed.Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        set_as_default=False,
    ) as client:
        yield client


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_partitions_of_dask_keep_their_order(frame, client, tmp_path):
    parts = PrivateParts.from_dask(frame, y=TARGET, owners=OWNER, scratch=tmp_path, engine=client)
    read = pd.concat([pd.read_parquet(path) for path in parts._paths], ignore_index=True)
    parts.close()
    pd.testing.assert_frame_equal(read, table(600, 200), check_dtype=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_frames_that_fail_are_named_by_type_alone(frame, client, tmp_path):
    def fail(cell):
        raise RuntimeError("Mrs Novak")

    how = {"y": TARGET, "owners": OWNER, "scratch": tmp_path, "engine": client}
    failing = frame.assign(a=frame["a"].map(fail, meta=("a", float)))
    with pytest.raises(ValueError, match=r"could not be computed, .*: RuntimeError") as error:
        PrivateParts.from_dask(failing, **how)
    assert "Novak" not in str(error.value)
    assert error.value.__suppress_context__
    with pytest.raises(ValueError, match="lacks the column 'nothing'") as error:
        PrivateParts.from_dask(frame, **{**how, "y": "nothing"})
    assert list(tmp_path.iterdir()) == []  # while the errors, and their frames, are alive


KILLED = """
import os, sys
from tests.distributed._parts import OWNER, TARGET
from secretballot.tables import PrivateParts
from secretballot.tables._buckets import Buckets
parts = PrivateParts(sys.argv[1], y=TARGET, owners=OWNER, scratch=sys.argv[2])
buckets = Buckets.of(parts, ["a"], bytes(16))
print(oct(os.stat(buckets.folder.path).st_mode & 0o777))
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="an open file is not deleted there")
def test_what_a_killed_client_left_is_deleted_by_the_next_one(folder, tmp_path):
    done = run_python("-c", KILLED, folder, tmp_path)
    assert done.stdout.strip() == "0o700"
    (left,) = tmp_path.iterdir()
    assert list(left.glob("bucket-*/*.arrow"))
    parts = PrivateParts(folder, y=TARGET, owners=OWNER, scratch=tmp_path)
    buckets = Buckets.of(parts, ["a"], bytes(16))
    assert not left.exists()
    buckets.delete()
    assert list(tmp_path.iterdir()) == []
