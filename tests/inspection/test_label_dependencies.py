"""Which labels go with which, and the picture of it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from secretballot import PrivateLabels, PublicData
from secretballot.accounting import PrivacyLeakWarning
from secretballot.inspection import DependencyDisplay, label_dependencies

LABELS = np.array([[0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("condition", ["absent", "present"])
def test_shares_are_those_of_rows_counted_one_by_one(condition):
    rng = np.random.default_rng(3)
    labels = rng.integers(-1, 2, size=(40, 5))
    labels[:, 4] = np.where(labels[:, 4] == (condition == "present"), -1, labels[:, 4])
    found = label_dependencies(PublicData(labels), condition=condition)
    value = int(condition == "present")
    for i in range(5):
        for j in range(5):
            rows = [row for row in labels if row[i] == value and row[j] != -1]
            share = np.mean([row[j] == value for row in rows]) if rows else np.nan
            assert found[i, j] == pytest.approx(share, nan_ok=True)
    assert np.isnan(found[4]).all()


def test_public_and_released_labels_are_taken_and_others_warned_of():
    expected = label_dependencies(PublicData(LABELS))
    released = PrivateLabels(LABELS, LABELS >= 0)
    assert (label_dependencies(released) == expected).all()
    assert (label_dependencies(PublicData(csr_array(LABELS))) == expected).all()
    with pytest.warns(PrivacyLeakWarning, match="a release of its own that no budget pays for"):
        found = label_dependencies(LABELS)
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("labels", "condition", "message"),
    [
        (LABELS, "missing", "condition='missing' is unknown"),
        (LABELS[0], "absent", r"labels of shape \(3,\) must be"),
        (LABELS * 2, "absent", "must be a table of 1"),
    ],
)
def test_bad_input(labels, condition, message):
    with pytest.raises(ValueError, match=message):
        label_dependencies(PublicData(labels), condition=condition)


def test_the_picture():
    plt = pytest.importorskip("matplotlib.pyplot")
    names = ["shadow", "a$b", "c"]
    display = DependencyDisplay.from_labels(PublicData(LABELS), names=names)
    assert (np.asarray(display.image_.get_array()) == label_dependencies(PublicData(LABELS))).all()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["shadow", r"a\$b", "c"]
    assert len(display.ax_.texts) == 9
    with pytest.raises(ValueError, match=r"shape \(3, 3\) and there are 2 names"):
        DependencyDisplay.from_labels(PublicData(LABELS), names=["one", "two"])
    many = DependencyDisplay(np.eye(20)).plot(plt.subplots()[1])
    assert len(many.ax_.texts) == 0
    plt.close("all")
