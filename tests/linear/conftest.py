"""What tests of linear models share."""

import pytest

from secretballot.linear import _dense_features


@pytest.fixture
def few_cosines(monkeypatch):
    """Take 20 cosines for kernel features, which are as long as 400."""
    monkeypatch.setattr(_dense_features, "_N_COSINES", 20)
