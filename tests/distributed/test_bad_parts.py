"""Parts that can't be used: errors name the part and the remedy, and quote no value."""

import errno
import re
import shutil
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.distributed._parts import OWNER, TARGET, budget, public_rows, split, table

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
    Weighting,
)
from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot.ensemble import PrivateChoice
from secretballot.mechanisms import GNMax
from secretballot.tables import PrivateParts, _tasks
from secretballot.tables._buckets import Buckets
from secretballot.tables._engine import JoblibEngine

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

SECRET = "Mrs Novak"


def model(**how):
    return PrivateLogisticRegression(**{"classes": [0, 1], "accountant": budget(), **how})


def parts(folder, **how):
    return PrivateParts(folder, **{"y": TARGET, "owners": OWNER, "n_buckets": 3, **how})


@pytest.fixture
def folder(tmp_path):
    split(table(600, 200), tmp_path / "parts")
    return tmp_path / "parts"


def change(folder, index, **columns):
    """Change columns of one part."""
    path = folder / f"part-{index}.parquet"
    rows = pd.read_parquet(path).assign(**columns)
    rows.to_parquet(path, index=False)


def ids_missing(folder):
    change(folder, 2, **{OWNER: lambda rows: rows[OWNER].where(rows.index > 3)})


def ids_of_two_kinds(folder):
    change(folder, 1, **{OWNER: lambda rows: SECRET + rows[OWNER].astype(str)})


def ids_that_stand_for_nothing(folder):
    for index in range(4):
        change(folder, index, **{OWNER: lambda rows: rows[OWNER].astype(str)})
    change(folder, 3, **{OWNER: lambda rows: rows[OWNER].where(rows.index != 5, " NaN ")})


def ids_of_fractions(folder):
    change(folder, 0, **{OWNER: lambda rows: rows[OWNER] + 0.5})


def ids_too_long(folder):
    for index in range(4):
        change(folder, index, **{OWNER: lambda rows: rows[OWNER].astype(str)})
    change(folder, 1, **{OWNER: lambda rows: rows[OWNER].where(rows.index != 5, 1001 * "é")})


def ids_in_bytes_too_long(folder):
    for index in range(4):
        change(folder, index, **{OWNER: lambda rows: rows[OWNER].astype(str).str.encode("ascii")})
    change(folder, 1, **{OWNER: lambda rows: rows[OWNER].where(rows.index != 5, 1001 * b"x")})


def labels_of_no_class(folder):
    change(folder, 0, **{TARGET: 7})


def labels_of_another_type(folder):
    change(folder, 0, **{TARGET: SECRET})


def labels_missing(folder):
    change(folder, 0, **{TARGET: lambda rows: rows[TARGET].where(rows.index > 3)})


def texts_among_numbers(folder):
    change(folder, 1, a=SECRET)


def part_cut_off(folder):
    path = folder / "part-1.parquet"
    data = path.read_bytes()
    middle = len(data) // 3
    path.write_bytes(data[:middle] + bytes(200) + data[middle + 200 :])


def no_rows(folder):
    for index in range(4):
        path = folder / f"part-{index}.parquet"
        pd.read_parquet(path).iloc[:0].to_parquet(path, index=False)


IN_PARTS = [
    (ids_missing, r"part 2: the column of owners has missing ids"),
    (ids_of_two_kinds, r"owners mixes ids of kinds|ids of several kinds|part 1"),
    (ids_that_stand_for_nothing, "part 3: the column of owners has missing ids, or texts"),
    (ids_of_fractions, "part 0: the column of owners .* neither texts nor whole numbers"),
    (ids_too_long, "part 1: the column of owners has texts of more than 1,000 characters"),
    (ids_in_bytes_too_long, "part 1: the column of owners .* of more than 1,000 characters"),
    (labels_of_no_class, "bucket .: y='outcome' has missing cells, or others.*Leave such rows out"),
    (labels_of_another_type, "part 1 .* the column 'outcome' of another type"),
    (labels_missing, "bucket .: y='outcome' has missing cells, or others"),
    (
        texts_among_numbers,
        "part 1 .* the column 'a' of another type than parts before it: .*string",
    ),
    (part_cut_off, "part 1"),
    (no_rows, "the parts have no rows"),
]


@pytest.mark.parametrize(("damage", "message"), IN_PARTS)
def test_faults_of_parts_are_found_before_spending(damage, message, folder, capfd):
    damage(folder)
    estimator = model()
    with pytest.raises(ValueError, match=message) as error:
        estimator.fit(parts(folder), X_public=PublicData(public_rows()))
    assert not estimator.accountant.entries()
    assert SECRET not in str(error.value)
    if re.match(r"(part|bucket) \d+: ", str(error.value)):
        assert str(error.value).endswith(f". {NOT_FOR_PUBLICATION}")
    chain = error.value
    while chain is not None:
        assert SECRET not in repr(chain.__cause__)
        chain = chain.__context__ if not chain.__suppress_context__ else None
    assert SECRET not in "".join(capfd.readouterr())


def regression(**how):
    return PrivateLinearRegression(**{"target_bounds": (0, 1), "accountant": budget(), **how})


@pytest.mark.filterwarnings("ignore:target_bounds")
@pytest.mark.parametrize("make", ["model", "ensemble", "regression"])
def test_parts_are_no_rows_to_predict(make, folder):
    estimator = globals()[make](accountant=budget(12.0), epsilon=8.0)
    if make == "ensemble":
        estimator.set_params(student=LogisticRegression())
    estimator.fit(rows := parts(folder), **NUMBERS)
    for ask in ("predict", "score"):
        with pytest.raises(ValueError, match="X is a PrivateParts.*read one file") as error:
            getattr(estimator, ask)(rows)
    remedy = re.search(r"model\.(score_private\(.*?\))\)", str(error.value))[1]
    assert eval(f"model.{remedy}", {"model": estimator, "parts": rows}).unit == "owner"
    remedy = re.search(r"such as (pandas.*)\.$", str(error.value))[1]
    path = folder / "part-1.parquet"
    table = eval(remedy, {"pandas": pd, "path": path, "parts": rows})
    table = table[["a", "b"]].fillna(0)
    assert len(estimator.predict(table)) == len(table)
    with pytest.raises(ValueError, match="y=None: give the labels of X"):
        estimator.score(table)
    estimator.score(table, pd.read_parquet(path)[TARGET])


POOL = {"X_public": PublicData(public_rows())}
IN_ARGUMENTS = [
    ({}, {"y": "nothing"}, POOL, "part 0 .'part-0.parquet'. lacks the column 'nothing'"),
    ({}, {"owners": "nobody"}, POOL, "lacks the column 'nobody'"),
    ({}, {"n_buckets": 0}, POOL, "n_buckets=0 must be an integer of at least 1"),
    ({}, {"engine": 3}, POOL, "engine is a int: give a distributed.Client"),
    ({}, {}, {**POOL, "y": [0, 1]}, "y was given beside PrivateParts"),
    ({}, {}, {**POOL, "owners": [0, 1]}, "owners was given beside PrivateParts"),
    ({}, {}, {**POOL, "budgets": [0, 1]}, r"Give PrivateParts\(..., budgets=\)"),
    ({"classes": None}, {}, POOL, "classes=None: the classes of rows in parts are not read"),
    ({"accountant": PrivacyAccountant(1.0, 1e-5)}, {}, POOL, "unit='row'"),
    ({}, {}, {"X_public": PublicData(np.zeros((50, 3)))}, "X_public has no names of columns"),
    (
        {},
        {},
        {"X_public": PublicData(public_rows().assign(d=public_rows()["b"]))},
        "the parts lack the column 'd'",
    ),
    (
        {},
        {},
        {"X_public": PublicData(public_rows().assign(**{TARGET: 1.0}))},
        "X_public has the column 'outcome', which is to be learned",
    ),
    (
        {},
        {},
        {"X_public": PublicData(public_rows().assign(**{OWNER: range(300)}))},
        "X_public has the column 'person', which names owners, groups or levels",
    ),
    ({}, {"owners": TARGET}, POOL, "give another column for each"),
    ({}, {"y": []}, POOL, r"y=\[\] names no column to learn"),
    ({}, {}, {}, "neither X_public nor bounds|bounds"),
]


@pytest.mark.filterwarnings("ignore:epsilon=")
@pytest.mark.parametrize(("settings", "columns", "arguments", "message"), IN_ARGUMENTS)
def test_arguments_are_refused_before_spending(settings, columns, arguments, message, folder):
    estimator = model(**settings)
    with pytest.raises(ValueError, match=message):
        estimator.fit(parts(folder, **columns), **arguments)
    assert not estimator.accountant.entries()
    assert [path.name for path in folder.parent.iterdir()] == ["parts"]


def ensemble(**how):
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        **{"n_teachers": 15, "classes": [0, 1], "accountant": budget(), **how},
    )


NUMBERS = {"X_public": PublicData(public_rows()[["a", "b"]].fillna(0))}


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({}, {}, "X_public=None: the types and categories"),
        ({"n_teachers": 900}, NUMBERS, "n_teachers=900 needs at least as many owners"),
        ({"classes": None}, NUMBERS, "classes=None"),
        ({"accountant": PrivacyAccountant(1.0, 1e-5)}, NUMBERS, "unit='row'"),
        ({}, {**NUMBERS, "y": [1]}, "y was given beside"),
        (
            {"student": PrivateChoice([LogisticRegression()], scoring="accuracy")},
            NUMBERS,
            "scoring='accuracy' has each teacher score",
        ),
        ({"individualization": Weighting()}, NUMBERS, "needs levels: give PrivateParts"),
    ],
)
def test_ensembles_refuse_before_training(settings, arguments, message, folder):
    estimator = ensemble(**settings)
    with pytest.raises(ValueError, match=message):
        estimator.fit(parts(folder), **arguments)
    assert not estimator.accountant.entries()


@pytest.mark.parametrize("damage", [labels_of_no_class, labels_missing])
def test_labels_are_read_before_the_first_release(damage, folder):
    """The check of public rows is paid for before teachers are trained."""
    damage(folder)
    estimator = ensemble(n_teachers=60, mechanism=GNMax(sigma=30.0))
    with pytest.raises(ValueError, match="bucket .: y='outcome' has missing cells, or others"):
        estimator.fit(parts(folder), **NUMBERS)
    assert not estimator.accountant.entries()


def test_teachers_whose_folder_was_deleted(folder):
    estimator = ensemble(n_teachers=60, mechanism=GNMax(sigma=30.0), reservation=10)
    estimator.fit(parts(folder), **NUMBERS)
    shutil.rmtree(estimator._teachers.folder.path)
    n = len(estimator.accountant.entries())
    with pytest.raises(ValueError, match="the teachers' folder .* was deleted: fit again"):
        estimator.predict_private(public_rows(5)[["a", "b"]].fillna(0))
    assert len(estimator.accountant.entries()) == n


def test_panics_of_tasks_are_named_by_type_alone(folder, capfd):
    class Panic(BaseException):
        """An error that is no exception, as those of Rust are."""

    def panic(index):
        raise Panic(SECRET)

    with pytest.raises(ValueError, match="part 0: Panic .its message may quote rows"):
        list(_tasks.map_tasks(JoblibEngine(), str(folder), panic, 1, "part"))
    assert SECRET not in "".join(capfd.readouterr())


def test_errors_of_the_operating_system_have_its_code(folder):
    def full(index):
        raise OSError(errno.ENOSPC, SECRET)

    with pytest.raises(ValueError, match="part 0: OSError ENOSPC .its message") as error:
        list(_tasks.map_tasks(JoblibEngine(), str(folder), full, 1, "part"))
    assert SECRET not in str(error.value)


def test_teachers_that_fail_are_named_by_type_alone(folder):
    class Quoting(LogisticRegression):
        def fit(self, X, y):
            raise RuntimeError(f"{SECRET}: {X}")

    estimator = ensemble(n_teachers=100, mechanism=GNMax(sigma=30.0)).set_params(
        estimator=Quoting()
    )
    with pytest.warns(UserWarning, match="of 100 teachers could not be trained") as warned:
        estimator.fit(parts(folder), **NUMBERS)
    texts = " ".join(str(warning.message) for warning in warned)
    assert SECRET not in texts
    assert "RuntimeError" in texts


def test_scores_are_refused_before_spending(folder):
    estimator = PrivateLinearRegression(target_bounds=(0, 1), accountant=budget(), epsilon=1.0)
    estimator.fit(parts(folder), X_public=PublicData(public_rows()))
    n = len(estimator.accountant.entries())
    with pytest.raises(ValueError, match="y was given beside PrivateParts"):
        estimator.score_private(parts(folder), [1.0], share=0.05)
    change(folder, 0, **{TARGET: lambda rows: rows[TARGET].where(rows.index > 3)})
    with pytest.raises(ValueError, match="bucket .: y=.outcome. has missing"):
        estimator.score_private(parts(folder), share=0.05)
    assert len(estimator.accountant.entries()) == n


def test_other_columns_in_one_part(folder):
    path = folder / "part-2.parquet"
    pd.read_parquet(path).rename(columns={"b": "B"}).to_parquet(path, index=False)
    with pytest.raises(ValueError, match="part 2 .* has other columns than part 0: 'B'"):
        parts(folder)


def test_no_parts(tmp_path):
    for paths in (tmp_path, [], tmp_path / "nothing.parquet"):
        with pytest.raises(ValueError, match="Give Parquet files, or a folder of them"):
            parts(paths)
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(ValueError, match=re.escape("part 0 ('a.parquet') is no Parquet file")):
        parts(tmp_path)


@pytest.mark.parametrize("kind", ["string", "bytes"])
@pytest.mark.parametrize(
    "other",
    [str.upper, " {}".format, "{}\t".format, "\u200b{}".format, "{}\ufeff".format]
    + [lambda text: text.translate({48 + n: 0xFF10 + n for n in range(10)})],
)
def test_ids_that_are_alike_are_warned_of(other, kind, folder):
    """The likes are in other parts, and in buckets of their own."""
    how = {"string": str, "bytes": str.encode}
    for index in range(4):
        form = other if index == 2 else str
        change(
            folder,
            index,
            **{OWNER: lambda rows, form=form: [how[kind](form(f"p{n}x")) for n in rows[OWNER]]},
        )
    with pytest.warns(
        UserWarning, match="owner ids differ from others in case, in spaces"
    ) as warned:
        n_owners = buckets_of(folder)
    text = next(str(each.message) for each in warned if "differ from others" in str(each.message))
    read = pd.concat(pd.read_parquet(path) for path in folder.glob("*.parquet"))[OWNER]
    texts = read.str.decode("utf-8") if kind == "bytes" else read
    alike = texts.str.normalize("NFKC").str.strip("\u200b\ufeff").str.strip().str.lower()
    n_like = read.nunique() - alike.nunique()
    assert n_owners == read.nunique()
    assert text.startswith(f"{n_like} of {n_owners} owner ids")


@pytest.mark.parametrize("form", ["p{}x", "P{}X", "Patient {}", "{}"])
def test_ids_of_one_form_are_not_warned_of(form, folder, recwarn):
    for index in range(4):
        change(folder, index, **{OWNER: lambda rows: rows[OWNER].map(form.format)})
    buckets_of(folder)
    assert not [each for each in recwarn if "differ from others" in str(each.message)]


def test_ids_that_are_no_texts_are_taken(folder):
    for index in range(4):
        change(folder, index, **{OWNER: lambda rows: [bytes([255, n % 256]) for n in rows[OWNER]]})
    with pytest.warns(UserWarning, match="differ from others in case"):
        assert buckets_of(folder) > 100  # A and a are among these bytes


def buckets_of(folder):
    """Bring rows together, and return the number of owners."""
    buckets = Buckets.of(parts(folder, scratch=folder.parent), ["a"], bytes(16))
    buckets.delete()
    assert [path.name for path in folder.parent.iterdir()] == ["parts"]
    return buckets.n_owners


def test_a_thread_that_ends_leaves_others_silent(monkeypatch):
    """Filters of warnings belong to the process, and a worker's log is read by others."""
    path, entered, ended = "", threading.Barrier(2), threading.Event()

    def task(index):
        entered.wait(60)
        if index:
            assert ended.wait(60)
            warnings.warn(SECRET, stacklevel=2)

    monkeypatch.setattr(_tasks, "_function", lambda path: task)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=_tasks._run, args=(path, index)) for index in (0, 1)]
        for thread in threads:
            thread.start()
        threads[0].join(60)
        ended.set()
        threads[1].join(60)
        assert not caught
        warnings.warn("filters are as they were", stacklevel=2)
    assert len(caught) == 1


def test_an_empty_part_is_no_fault(folder):
    path = folder / "part-3.parquet"
    pd.read_parquet(path).iloc[:0].to_parquet(path, index=False)
    estimator = model(random_state=None).fit(parts(folder), X_public=PublicData(public_rows()))
    assert estimator.coef_.any()


@pytest.mark.filterwarnings("ignore:.*This follows from what was released, and is paid for")
def test_more_buckets_than_owners_is_no_fault(tmp_path):
    split(table(300, 8), tmp_path / "parts")
    many = parts(tmp_path / "parts", n_buckets=40, scratch=tmp_path)
    estimator = ensemble(n_teachers=8, mechanism=GNMax(sigma=2.5), accountant=budget(100.0))
    labels = estimator.fit(many, **NUMBERS).pool_labels_
    assert labels.n_answered
    fitted = PrivateLinearRegression(target_bounds=(0, 1), accountant=budget(1e5), epsilon=90.0)
    fitted.fit(many, X_public=PublicData(public_rows()))
    assert np.isfinite(fitted.score_private(many, sigma=0.02).r2)
