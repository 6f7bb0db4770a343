"""Audits with fewer draws than those of users."""

import pytest

from secretballot.checks import _ensemble_neighbours, _mechanism_noise


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """A quarter: planted errors are found with these, and `make audit` takes a million."""
    for module in (_mechanism_noise, _ensemble_neighbours):
        monkeypatch.setattr(module, "CI_DRAWS", 50_000)
