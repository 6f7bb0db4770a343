"""Labels as users get them."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from secretballot.ensemble import PrivateLabels
from secretballot.ensemble._private_labels import private_labels
from secretballot.tables._labels import declared_classes, encode, learned_classes


@pytest.mark.parametrize(
    ("classes", "nothing", "dtype"),
    [
        (np.array([0, 1, 5]), -1, np.int64),
        (np.array([0, 1, 5], dtype=np.int8), -1, np.int8),
        (np.array([-1, 1]), None, object),
        (np.array([0, 1], dtype=np.uint8), None, object),
        (np.array([False, True]), None, object),
        (np.array([0.0, 1.0]), None, object),
        (np.array(["no", "yes"]), None, object),
        (np.array(["no", "yes"], dtype=object), None, object),
    ],
)
def test_the_mark_of_unanswered_rows_depends_on_the_classes(classes, nothing, dtype):
    released = private_labels(np.array([1, -1, 0]), 5, classes)
    assert isinstance(released, PrivateLabels)
    assert released.answered.tolist() == [True, False, True, False, False]
    expected = [classes[1], nothing, classes[0], nothing, nothing]
    assert released.labels.tolist() == expected
    # Also where every row is answered.
    assert released.labels.dtype == private_labels(np.array([1, 0]), 2, classes).labels.dtype
    assert released.labels.dtype == dtype


@pytest.mark.parametrize("labels", [["b", "a", "b"], [3, -1, 3], [True, False, True]])
def test_labels_and_their_positions(labels):
    classes = learned_classes(np.array(labels))
    codes = encode(labels, classes, "y")
    assert codes.tolist() == [1, 0, 1]
    assert classes[codes].tolist() == labels
    assert (encode(np.array(labels, dtype=object), classes, "y") == codes).all()


def test_declared_classes_are_sorted():
    assert declared_classes(["yes", "no"]).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([1], "classes holds 1 class"),
        ([0, 1, 1], r"classes=\[0, 1, 1\] names a class twice"),
        ([[0, 1]], r"classes has shape \(1, 2\)"),
        (np.array([0, "a"], dtype=object), "classes mixes labels that can't be sorted"),
    ],
)
def test_bad_classes(classes, message):
    with pytest.raises(ValueError, match=message):
        declared_classes(classes)


@pytest.mark.parametrize("labels", [[0, 2], ["0", "1"], [0.5, 1.0], [None, 1]])
def test_labels_that_are_not_among_the_classes(labels):
    with pytest.raises(ValueError, match=r"y holds labels that are not among the classes \[0, 1\]"):
        encode(np.array(labels), np.array([0, 1]), "y")


@pytest.mark.parametrize("use", [np.asarray, np.unique, lambda both: accuracy_score([1, 0], both)])
def test_private_labels_are_no_array(use):
    """As one array they would be counted together: two labels and two flags are four values."""
    released = PrivateLabels(np.array([1, 0]), np.array([True, True]))
    with pytest.raises(TypeError, match=r"labels\[.*answered\]"):
        use(released)
    labels, answered = released
    assert labels[answered].tolist() == [1, 0]
