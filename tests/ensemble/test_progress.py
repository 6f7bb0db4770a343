"""Progress, printed and told to callbacks; never with private data."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests._programs import run_python

from secretballot.ensemble import PrivateTeacherEnsemble

#: Fixtures are fitted again, without public rows.
pytestmark = pytest.mark.filterwarnings("ignore:X_public=None. this fit")


def test_verbose(ensemble, private, public, capsys):
    ensemble.set_params(verbose=1).fit(*private, X_public=public[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[PrivateTeacherEnsemble] teachers: 1 of 10"
    assert lines[9] == "[PrivateTeacherEnsemble] teachers: 10 of 10"
    assert lines[10] == "[PrivateTeacherEnsemble] rows labelled: 30 of 30"
    ensemble.set_params(verbose=0, n_teachers=40).fit(*private)
    assert capsys.readouterr().out == ""
    ensemble.set_params(verbose=True, n_jobs=2).fit(*private)
    assert len(capsys.readouterr().out.splitlines()) == 10


class Listener:
    """Writes down all that a callback can get."""

    def __init__(self):
        self.heard = []

    def hear(self, event, estimator, context, **arguments):
        private = [name for name in vars(estimator) if name == "_teachers"]
        self.heard.append((event, context.task_name, context.max_subtasks, arguments, private))

    def setup(self, estimator, context):
        self.hear("setup", estimator, context)

    def teardown(self, estimator, context):
        self.hear("teardown", estimator, context)

    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        arguments = {"X": X, "y": y, "metadata": metadata, "fitted_estimator": fitted_estimator}
        self.hear("begin", estimator, context, **arguments)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        arguments = {"X": X, "y": y, "metadata": metadata, "fitted_estimator": fitted_estimator}
        self.hear("end", estimator, context, **arguments)


@pytest.fixture
def listener():
    pytest.importorskip("sklearn.callback")
    return Listener()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_callbacks_get_names_and_counts(ensemble, private, public, listener, n_jobs):
    ensemble.set_params(n_jobs=n_jobs).set_callbacks(listener)
    ensemble.fit(*private, X_public=public[0])
    events = [(event, name) for event, name, *_ in listener.heard]
    assert events[:4] == [
        ("setup", "fit"),
        ("begin", "fit"),
        ("begin", "train teachers"),
        ("begin", "teacher"),
    ]
    assert events.count(("end", "teacher")) == 10
    assert events[-6:] == [
        ("begin", "label public rows"),
        ("end", "label public rows"),
        ("begin", "fit student"),
        ("end", "fit student"),
        ("end", "fit"),
        ("teardown", "fit"),
    ]
    for _, _, _, arguments, private_attributes in listener.heard:
        assert not private_attributes
        assert all(arguments.get(name) is None for name in ("X", "y", "fitted_estimator"))
    counts = {
        name: arguments["metadata"]
        for event, name, _, arguments, _ in listener.heard
        if event == "end" and arguments["metadata"]
    }
    assert counts["teacher"] == {"n_done": 10, "n_total": 10}
    assert counts["label public rows"] == {"n_done": 30, "n_total": 30}
    # A second fit starts with teachers on it, and forgets them first.
    listener.heard.clear()
    ensemble.fit(*private)
    assert not any(private_attributes for *_, private_attributes in listener.heard)


def test_callbacks_receive_the_end_of_a_failed_fit(ensemble, private, listener):
    ensemble.set_params(estimator=LogisticRegression(C=-1)).set_callbacks(listener)
    with pytest.raises(ValueError, match="none of 10 teachers could be trained"):
        ensemble.fit(*private)
    assert listener.heard[-1][0] == "teardown"


@pytest.mark.parametrize("nested", [False, True])
def test_callbacks_on_the_teachers_are_dropped(private, listener, nested):
    learner = LogisticRegression().set_callbacks(listener)
    estimator = make_pipeline(learner) if nested else learner
    with pytest.warns(UserWarning, match=r"callbacks set on estimator are dropped \(Listener\)"):
        ensemble = PrivateTeacherEnsemble(estimator, n_teachers=3).fit(*private)
    assert listener.heard == []
    assert learner._skl_callbacks == [listener]
    assert len(ensemble._teachers) == 3


def test_without_callbacks_in_scikit_learn():
    """Callbacks came with scikit-learn 1.9; its 1.8 has none."""
    script = """
import sys
import sklearn.pipeline
import sklearn.linear_model
sys.modules["sklearn.callback"] = None
from secretballot._base._sklearn_compat import CallbackSupportMixin
assert CallbackSupportMixin.__module__ == "secretballot._base._sklearn_compat"
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from secretballot.ensemble import PrivateTeacherEnsemble
ensemble = PrivateTeacherEnsemble(LogisticRegression(), n_teachers=3)
assert not hasattr(ensemble, "set_callbacks")
assert len(ensemble.fit(*make_blobs(30, random_state=0))._teachers) == 3
"""
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr
