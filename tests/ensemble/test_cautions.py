"""What only looks like a choice is told before anything is trained or spent."""

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant

#: Fixtures are fitted again, without public rows.
pytestmark = pytest.mark.filterwarnings("ignore:X_public=None. this fit")


OWNERS = np.arange(200) % 40
LEVELS = {"strict": 90.0, "generous": 200.0}


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_teachers": 1}, {}, r"one teacher only: .* \(n_teachers=100\)"),
        (
            {"accountant": PrivacyAccountant(LEVELS, 1e-5)},
            {},
            r"the levels 'strict', 'generous', but budgets was not given: .* fit\(..., budgets=\)",
        ),
        ({"epsilon": 101}, {}, "epsilon=101 is more than the accountant's budget of 100.0"),
        (
            {
                "accountant": PrivacyAccountant(LEVELS, 1e-5),
                "epsilon": {"strict": 91, "generous": 300},
            },
            {"budgets": np.where(OWNERS < 20, "strict", "generous")},
            "epsilon={'strict': 91, 'generous': 300} is more than the accountant's budget of {",
        ),
        (
            {"accountant": PrivacyAccountant(90.0, 0.006)},
            {},
            "delta=0.006 is above 1/n = 0.005 for n=200: .* well below that",
        ),
        (
            {"accountant": PrivacyAccountant(90.0, 0.03, unit="owner"), "n_teachers": 4},
            {"owners": OWNERS},
            "delta=0.03 is above 1/n = 0.025 for n=40",
        ),
    ],
    ids=["one teacher", "levels", "epsilon", "epsilon of levels", "delta", "delta of owners"],
)
def test_settings_that_protect_less_warn(ensemble, private, public, parameters, data, message):
    ensemble.set_params(**parameters)
    with pytest.warns(UserWarning, match=message) as warned:
        ensemble.fit(*private, X_public=public[0][:4], **data)
    assert len(warned) == 1
    # Not where nothing is released; and it is told once.
    ensemble.fit(*private, **data)


def test_a_cap_below_one_level_does_not_warn(ensemble, private, public):
    ensemble.set_params(accountant=PrivacyAccountant(LEVELS, 1e-5), epsilon=91)
    budgets = np.where(OWNERS < 20, "strict", "generous")
    ensemble.fit(*private, X_public=public[0], budgets=budgets)
    assert ensemble.n_answered_ == 30
