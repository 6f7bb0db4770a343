"""A budget, and a check that what it refuses leaves no trace."""

import pytest

from secretballot.accounting import BudgetExceededError, PrivacyAccountant


@pytest.fixture
def accountant():
    return PrivacyAccountant(1.0, 1e-5, order="renyi")


def room(accountant):
    return accountant.remaining().amount


def refused(accountant, *args, **kwargs):
    """Check that a release is refused and leaves no trace."""
    before = accountant.entries(), accountant.spent()
    with pytest.raises(BudgetExceededError) as caught:
        accountant.release(*args, **kwargs)
    assert [e.digest for e in accountant.entries()] == [e.digest for e in before[0]]
    after = accountant.spent()
    assert repr(after) == repr(before[1])
    return str(caught.value)
