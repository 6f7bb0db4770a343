"""Other votes with the same outcome: whatever is shown, printed or told is the same."""

import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.inspection import BudgetDisplay, LabelsDisplay, show_progress
from secretballot.mechanisms import GNMax

plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
Y = np.arange(1_000) % 2
X = np.column_stack([np.where(Y, 3.0, -3.0), RNG.normal(size=1_000)])
#: Twenty people who answer otherwise: the majority stays far larger than the noise.
OTHERS = X * np.where(np.arange(1_000) < 20, -1.0, 1.0)[:, None]
PUBLIC = PublicData(np.column_stack([np.where(np.arange(12) % 2, 3.0, -3.0), np.zeros(12)]))

#: What differs from ledger to ledger: ids, digests and times.
OWN = re.compile(r"[0-9a-f]{32,64}|\d{4}-\d\d-\d\d([T ][\d:.+]+)?")


class Listener:
    """Writes down what a callback gets beside the estimator."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.heard.append(("teardown", context.task_name))

    # scikit-learn hands over what is named.
    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.heard.append((context.task_name, str((X, y, metadata, fitted_estimator))))

    on_fit_task_end = on_fit_task_begin


def fitted(accountant, mechanism, listener=None):
    model = PrivateTeacherEnsemble(
        DecisionTreeClassifier(),
        n_teachers=100,
        student=LogisticRegression(),
        classes=[0, 1],
        mechanism=mechanism,
        accountant=accountant,
        verbose=1,
        random_state=0,
        check_public_rows=False,
    )
    return model if listener is None else model.set_callbacks(listener)


def everything(rows, accounting, capsys):
    """Fit twice, the second time with noise for what is left; return that and what was shown."""
    listener, heard = None, []
    if hasattr(PrivateTeacherEnsemble, "set_callbacks"):
        listener = Listener()
    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always")
        accountant = PrivacyAccountant(60.0, 1e-5, accounting=accounting, order="renyi")
        with show_progress(lambda *told: heard.append(told)):
            first = fitted(accountant, GNMax(sigma=8.0), listener).fit(rows, Y, X_public=PUBLIC)
            first.predict_private(rows[-3:])
            model = fitted(accountant, None, listener).fit(rows, Y, X_public=PUBLIC)
    statement, report = accountant.statement(), model.budget_report()
    shown = {
        "report": f"{report}{report.html}{accountant.report()}{accountant.report().html}",
        "repr": f"{model}{accountant}{accountant!r}",
        "labels": f"{model.pool_labels_}{model.pool_labels_._repr_html_()}",
        "statement": OWN.sub("", f"{statement}{statement!r}{statement.to_html()}"),
        "statement as a dict": OWN.sub("", str(statement.to_dict())),
        "student": OWN.sub("", str(model.to_student().privacy)),
        "progress": str(heard),
        "callbacks": str(listener and listener.heard),
        "printed": capsys.readouterr().out,
        "warnings": str([str(each.message) for each in cautions]),
    }
    return model, shown


@pytest.mark.parametrize("accounting", ["worst_case", "sanitized", "data_dependent"])
def test_other_votes_with_the_same_outcome_show_the_same(accounting, capsys):
    (one, shown), (other, alike) = (everything(rows, accounting, capsys) for rows in (X, OTHERS))
    assert one.pool_labels_.labels.tolist() == other.pool_labels_.labels.tolist()
    assert one.pool_labels_.answered.all()
    assert [what for what in shown if shown[what] != alike[what]] == []
    # The votes were others: what they cost is another figure, and noise for what is left tells it.
    sensitive = accounting == "data_dependent"
    amounts = {model.accountant.spent().amount for model in (one, other)}
    assert (len(amounts) > 1) == (one.mechanism_ != other.mechanism_) == sensitive
    assert ("rows labelled" in shown["printed"]) != sensitive
    if hasattr(one, "set_callbacks"):
        assert ("'n_total': 3}" in shown["callbacks"]) != sensitive


@pytest.mark.parametrize("accounting", ["worst_case", "data_dependent"])
def test_pictures_that_tell_of_votes_say_so(accounting, capsys):
    model, _ = everything(X, accounting, capsys)
    pictures = [
        BudgetDisplay.from_accountant(model.accountant),
        BudgetDisplay.from_accountant(model.accountant, against="time"),
        LabelsDisplay.from_estimator(model, n_rows=2, accounting="renyi"),
    ]
    for picture in pictures:
        # Also where they are drawn again.
        for drawn in (picture, picture.plot()):
            cautioned = "itself sensitive" in drawn.ax_.get_title()
            assert cautioned == (accounting == "data_dependent")
    # Noise that was named is public.
    model.set_params(mechanism=model.mechanism_)
    assert "sensitive" not in LabelsDisplay.from_estimator(model, n_rows=2).ax_.get_title()
    with pytest.raises(ValueError, match="accountant=None: there is no budget to mark"):
        LabelsDisplay.from_estimator(model.set_params(accountant=None))
    plt.close("all")
