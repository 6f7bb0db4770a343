"""What a fit leaves behind, and where its warnings point."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from secretballot.accounting import PrivacyLeakWarning
from secretballot.ensemble import PublicData
from secretballot.mechanisms import GNMax

#: Fixtures are fitted again, without public rows.
pytestmark = pytest.mark.filterwarnings("ignore:X_public=None. this fit")


def test_a_fit_deletes_the_attributes_of_the_last_one(ensemble, private, public):
    unfitted = set(vars(ensemble))
    with pytest.raises(ValueError, match="y is None"):
        ensemble.fit(private[0], None)
    assert set(vars(ensemble)) == unfitted
    with pytest.raises(NotFittedError):
        check_is_fitted(ensemble, "_teachers")
    ensemble.set_params(epsilon=5.0).fit(*private, X_public=public[0])
    assert set(vars(ensemble)) - unfitted > {"student_", "_teachers"}
    fitted = vars(ensemble).copy()
    with pytest.raises(ValueError, match="y is None"):
        ensemble.fit(private[0], None)
    assert vars(ensemble) == fitted  # a fit that is refused destroys nothing
    ensemble.fit(*private)
    assert not {"student_", "pool_labels_"} & set(vars(ensemble))


def test_other_attributes_are_kept(ensemble, private, public):
    ensemble.set_params(epsilon=5.0).fit(*private, X_public=public[0])
    ensemble.remark = "mine"
    ensemble.fit(*private)
    assert ensemble.remark == "mine"
    assert not hasattr(ensemble, "student_")
    assert not hasattr(clone(ensemble), "_teachers")


def test_fit_arguments_are_keyword_only(ensemble, private, public):
    with pytest.raises(TypeError, match="positional"):
        ensemble.fit(*private, public[0])


def here(warned):
    return {warning.filename for warning in warned} == {__file__}


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_warnings_point_at_the_users_line(ensemble, private, public):
    ensemble.set_params(classes=None, mechanism=GNMax(sigma=1.5))
    with pytest.warns(PrivacyLeakWarning, match="classes=None") as warned:
        ensemble.fit(*private, X_public=public[0])
    assert here(warned)
    ensemble.set_params(classes=[0, 1], epsilon=12.0, student=None).fit(*private)
    with pytest.warns(UserWarning, match="the budget ended") as warned:
        ensemble.predict_private(public[0])
    assert here(warned)
    ensemble.set_params(classes=None, epsilon=ensemble.accountant.epsilon_per_fit(2))
    with pytest.warns(PrivacyLeakWarning, match="classes=None") as warned:
        cross_validate(
            make_pipeline(ensemble.set_params(student=LogisticRegression())),
            *private,
            params={"privateteacherensemble__X_public": PublicData(public[0])},
            cv=2,
            error_score="raise",
        )
    assert here(warned)
    assert np.isfinite(ensemble.accountant.spent().epsilon)
