"""Progress of work on parts: parts, buckets and rounds, as of rows in memory."""

import pytest
from sklearn.linear_model import LogisticRegression
from tests.distributed._parts import (
    OWNER,
    TARGET,
    RepeatingEngine,
    budget,
    public_rows,
    split,
    table,
)

from secretballot import PrivateLogisticRegression, PrivateTeacherEnsemble, PublicData
from secretballot.inspection import show_progress
from secretballot.mechanisms import GNMax
from secretballot.tables import PrivateParts

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def parts(tmp_path):
    split(table(600, 200), tmp_path / "parts")
    return PrivateParts(
        tmp_path / "parts", y=TARGET, owners=OWNER, n_buckets=3, engine=RepeatingEngine()
    )


def complete(reports):
    """Return the tasks that were done to the end, in the order of their ends."""
    return [(name, total) for name, done, total in reports if done == total]


def test_fits_of_rounds_and_scores(parts):
    reports = []
    model = PrivateLogisticRegression(
        classes=[0, 1], rounds=2, interactions=0, epsilon=2.0, accountant=budget()
    )
    with show_progress(lambda *report: reports.append(report)):
        model.fit(parts, X_public=PublicData(public_rows()))
    ended = complete(reports)
    assert ended[:2] == [("parts", 4), ("buckets", 3)]
    (rounds,) = [total for name, total in ended if name == "ask private rows"]
    assert ended.count(("buckets", 3)) > rounds
    # A round begins after the one before, and has buckets of its own.
    assert [done for name, done, _ in reports if name == "ask private rows"] == [*range(rounds + 1)]
    reports.clear()
    with show_progress(lambda *report: reports.append(report)):
        model.score_private(parts, share=0.05)
    assert complete(reports)[:2] == [("parts", 4), ("buckets", 3)]


def test_teachers(parts, capsys):
    reports = []
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=20,
        mechanism=GNMax(sigma=14.0),
        classes=[0, 1],
        reservation=10,
        accountant=budget(),
        verbose=1,
    )
    numbers = public_rows(60)[["a", "b"]].fillna(0)
    with show_progress(lambda *report: reports.append(report)):
        ensemble.fit(parts, X_public=PublicData(numbers))
        ensemble.predict_private(numbers[:5])
    ended = complete(reports)
    assert ended[:2] == [("parts", 4), ("buckets", 3)]
    assert ("train teachers", 20) in ended
    assert ("teacher groups", 3) in ended
    assert ("ask teachers", 20) in ended
    assert "[PrivateTeacherEnsemble] teachers: 20 of 20" in capsys.readouterr().out


def test_a_part_that_fails_ends_its_task(parts):
    parts._paths[2] += ".gone"
    reports = []
    model = PrivateLogisticRegression(classes=[0, 1], accountant=budget())
    with (
        show_progress(lambda *report: reports.append(report)),
        pytest.raises(ValueError, match="part 2"),
    ):
        model.fit(parts, X_public=PublicData(public_rows()))
    assert {name for name, _, _ in reports} == {"parts"}
