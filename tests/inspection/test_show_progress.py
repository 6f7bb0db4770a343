"""Progress of long work: names and counts, told to who listens."""

import sys
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from secretballot._base._progress import ProgressTask, send_progress
from secretballot.accounting import PrivacyAccountant, plan_rows, price_plan
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.inspection import show_progress
from secretballot.linear import PrivateLogisticRegression
from secretballot.mechanisms import GNMax
from secretballot.testing import audit_epsilon

X, Y = make_blobs(330, centers=[[-3, 0], [3, 0]], random_state=0)
PUBLIC = PublicData(X[300:])


def ensemble(**parameters):
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=20,
        student=LogisticRegression(),
        classes=[0, 1],
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(1e3, 1e-5, order="renyi"),
        **parameters,
        check_public_rows=False,
    )


def regression():
    return PrivateLogisticRegression(classes=[0, 1], accountant=PrivacyAccountant(9.0, 1e-5))


class Heard(list):
    def __call__(self, name, done, total):
        self.append((name, done, total))

    def of(self, name):
        return [(done, total) for each, done, total in self if each == name]


@pytest.fixture
def heard():
    return Heard()


def test_an_ensemble_counts_teachers(heard):
    model = ensemble()
    with show_progress(heard):
        model.fit(X[:300], Y[:300], X_public=PUBLIC)
        labels = model.predict_private(X[:5])
    assert heard.of("train teachers") == [(n, 20) for n in range(21)]
    assert heard.of("ask teachers") == [(n, 20) for n in range(21)]
    assert labels.answered.all()
    heard.clear()
    model.predict_private(X[:5])
    assert heard == []


def test_a_regression_counts_rounds(heard):
    model = regression()
    with show_progress(heard):
        model.fit(X[:300], Y[:300], X_public=PUBLIC)
    n_paid = 1 + model.n_rounds_ + 1  # the last is the release of all pairs of columns
    assert heard.of("ask private rows") == [(n, n_paid) for n in range(n_paid + 1)]


def test_games_count_rows(heard):
    with show_progress(heard):
        assert plan_rows(GNMax(sigma=41.7), 100, epsilon=0.3, delta=1e-5, n_columns=2) == 9
        price_plan(GNMax(sigma=51.3), 7, n_columns=2)
    rows = heard.of("rows of the game")
    assert rows[-8:] == [(n, 7) for n in range(8)]
    # A search counts the rows that it plays for each length it tries, from 0 to all of them.
    searched = iter(rows[:-8])
    while counted := next(searched, None):
        assert counted[0] == 0
        total = counted[1]
        assert [next(searched) for _ in range(total)] == [(n + 1, total) for n in range(total)]


def test_audits_count_pairs_and_draws(heard):
    pairs = [(np.array([[3.0, 7.0]]), np.array([[2.0, 8.0]]))] * 2
    with show_progress(heard):
        audit_epsilon(GNMax(sigma=1.5), pairs, delta=1e-2, n_draws=120_000, random_state=0)
    assert heard.of("pairs of neighbours") == [(0, 2), (1, 2), (2, 2)]
    one = [(0, 120_000), (50_000, 120_000), (100_000, 120_000), (120_000, 120_000)]
    assert heard.of("draws") == one * 4


def test_verbose_predict_private(capsys):
    model = ensemble().fit(X[:300], Y[:300])
    model.predict_private(X[:5])
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).predict_private(X[:5])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[PrivateTeacherEnsemble] teachers: 2 of 20"
    assert lines[9:] == [
        "[PrivateTeacherEnsemble] teachers: 20 of 20",
        "[PrivateTeacherEnsemble] rows labelled: 5 of 5",
    ]


def slow(n_parts=20, pause=0.04):
    with ProgressTask("slow work", n_parts) as task:
        for _ in range(n_parts):
            time.sleep(pause)
            task.advance()


def test_lines(capsys):
    with show_progress("lines"):
        slow()
        slow(pause=0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "[secretballot] slow work: 20 of 20"
    # Only of what takes longer, and a line for a tenth at most.
    assert 1 <= len(lines) <= 10


def test_bars(capsys):
    pytest.importorskip("rich")
    with show_progress():
        slow()
    shown = capsys.readouterr().out
    assert "slow work" in shown
    assert "20/20" in shown
    with show_progress("bar"):
        slow(pause=0)
    assert capsys.readouterr().out == ""


def test_one_live_display_at_a_time(capsys):
    rich = pytest.importorskip("rich.progress")
    with rich.Progress(), show_progress("bar"):
        slow(n_parts=8, pause=0.1)
    # Whether the other's display lets a second one in depends on rich; the work is done.


def test_without_rich(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with show_progress():
        slow()
    assert "[secretballot] slow work" in capsys.readouterr().out
    with pytest.raises(ImportError, match="install the extra `progress`"):
        show_progress("bar").__enter__()


def test_values_of_show():
    with pytest.raises(ValueError, match="show='x' must be"):
        show_progress("x").__enter__()


def test_work_that_fails_ends_its_tasks():
    class Books:
        def __init__(self):
            self.open = []

        def begin(self, task):
            self.open.append(task)

        def advance(self, task):
            assert task is self.open[-1]

        def end(self, task):
            assert self.open.pop() is task

    def fails():
        with ProgressTask("outer", 3) as outer, ProgressTask("inner", 2) as inner:
            inner.advance()
            outer.total = 1 / 0

    books = Books()
    with send_progress(books):
        with pytest.raises(ZeroDivisionError):
            fails()
        plan_rows(GNMax(sigma=43.9), 50, epsilon=0.3, delta=1e-5, n_columns=2)
    assert books.open == []


def test_a_task_without_parts_is_not_reported(heard, capsys):
    """A function may divide by the total, and so do lines."""
    for show in (heard, "lines"):
        with show_progress(show), ProgressTask("no work", 0) as task:
            assert task.advance() in (True, False)
    with show_progress(heard):
        price_plan(GNMax(sigma=53.7), 1, n_columns=2)
    assert all(total for _, _, total in heard)


def test_work_that_goes_on_after_the_block_does_not_fail(capsys):
    pytest.importorskip("rich")
    with show_progress("bar"):
        tasks = [ProgressTask(name, 5).__enter__() for name in ("outer", "inner")]
        time.sleep(0.6)
        for task in tasks:
            task.advance()
    assert "inner" in capsys.readouterr().out
    for task in reversed(tasks):
        task.advance()
        task.__exit__(None, None, None)
    assert capsys.readouterr().out == ""


def test_other_threads_are_not_reported(heard):
    with show_progress(heard):
        other = threading.Thread(target=slow, kwargs={"n_parts": 3, "pause": 0})
        other.start()
        other.join()
    assert heard == []


# scikit-learn's callbacks


class Listener:
    """Writes down all that a callback can get."""

    def __init__(self):
        self.heard = []

    def _hear(self, event, estimator, context, **given):
        self.heard.append((event, context.estimator_name, context.task_name, given, estimator))

    def setup(self, estimator, context):
        self._hear("setup", estimator, context)

    def teardown(self, estimator, context):
        self._hear("teardown", estimator, context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self._hear("begin", estimator, context, X=X, y=y, fitted=fitted_estimator)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self._hear("end", estimator, context, X=X, y=y, fitted=fitted_estimator)

    def names(self, event):
        return [name for each, _, name, _, _ in self.heard if each == event]


@pytest.fixture
def listener():
    pytest.importorskip("sklearn.callback")
    return Listener()


def test_callbacks_follow_predict_private(listener, heard):
    model = ensemble().fit(X[:300], Y[:300])
    model.set_callbacks(listener)
    with show_progress(heard):
        model.predict_private(X[:5])
    assert listener.names("setup") == listener.names("teardown") == ["predict_private"]
    assert listener.names("begin").count("teacher") == 20
    assert listener.names("end")[-2:] == ["label rows", "predict_private"]
    for _, _, _, given, estimator in listener.heard:
        assert all(value is None for value in given.values())
        assert {"_teachers", "_labelling"}.isdisjoint(vars(estimator))
    # Bars of callbacks are bars enough.
    assert heard.of("ask teachers") == []
    assert not [name for name in vars(model) if "callback_" in name]


def test_callbacks_get_the_end_of_a_vote_that_fails(listener):
    model = ensemble().fit(X[:300], Y[:300])
    model.set_callbacks(listener).set_params(mechanism=GNMax(sigma=1e-4))
    with pytest.raises(RuntimeError, match="budget"):
        model.predict_private(X[:5])
    assert listener.names("setup") == listener.names("teardown")


@pytest.mark.parametrize("fails_at", ["label rows", "predict_private"])
def test_labels_that_were_paid_for_are_not_lost_to_a_callback(listener, fails_at):
    def fails(estimator, context, **given):
        if context.task_name == fails_at:
            raise OSError("the bar is gone")

    model = ensemble().fit(X[:300], Y[:300])
    listener.on_fit_task_end = fails
    model.set_callbacks(listener)
    with pytest.warns(UserWarning, match="are returned, but .* OSError: the bar is gone"):
        labels = model.predict_private(X[:5])
    assert labels.answered.all()
    # Before anything was paid it is an error like any other.
    spent = model.accountant.spent().amount
    fails_at = "ask teachers"
    with pytest.raises(OSError, match="the bar is gone"):
        model.predict_private(X[:5])
    assert model.accountant.spent().amount == spent


@pytest.mark.parametrize(
    ("make", "fails_at"),
    [
        (ensemble, "label public rows"),
        (ensemble, "fit"),
        (regression, "round"),
        (regression, "ask private rows"),
    ],
)
def test_a_fit_that_was_paid_for_is_not_lost_to_a_callback(listener, make, fails_at):
    def fails(estimator, context, **given):
        if context.task_name == fails_at:
            raise OSError("the bar is gone")

    listener.on_fit_task_end = fails
    model = make().set_callbacks(listener)
    with pytest.warns(UserWarning, match="was paid for, but .* OSError: the bar is gone"):
        model.fit(X[:300], Y[:300], X_public=PUBLIC)
    assert len(model.predict(X[:5])) == 5


@pytest.mark.parametrize("make", [ensemble, regression])
def test_a_callback_that_fails_beforehand_costs_nothing(listener, make):
    def fails(estimator, context, **given):
        raise OSError("the bar is gone")

    listener.on_fit_task_begin = fails
    model = make().set_callbacks(listener)
    with pytest.raises(OSError, match="the bar is gone"):
        model.fit(X[:300], Y[:300], X_public=PUBLIC)
    assert model.accountant.spent().amount == 0


def test_callbacks_follow_a_regression(listener):
    model = regression().set_callbacks(listener).fit(X[:300], Y[:300], X_public=PUBLIC)
    assert listener.names("end").count("round") == 1 + model.n_rounds_ + 1
    for _, _, _, given, estimator in listener.heard:
        assert all(value is None for value in given.values())
        arrays = [value for value in vars(estimator).values() if isinstance(value, np.ndarray)]
        assert all(len(array) != 300 for array in arrays)


@pytest.mark.filterwarnings("ignore:a copy of the model")
@pytest.mark.parametrize("model", [ensemble(), regression()], ids=["teachers", "regression"])
def test_bars_of_scikit_learn(model, listener, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    search = GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=2, refit=False)
    search.set_callbacks(ProgressBar(max_propagation_depth=None))
    if isinstance(model, PrivateTeacherEnsemble):
        search.set_params(param_grid={"epsilon": [100.0, 200.0]})
    search.fit(X[:300], Y[:300], X_public=PUBLIC)
    assert type(model).__name__[:10] in capsys.readouterr().out
