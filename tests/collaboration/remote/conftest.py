"""An authority, and processes that end with the module."""

import pytest
from tests.collaboration.remote._processes import Sites
from tests.transport._certificates import Authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def steady(authority, tmp_path_factory):
    """Processes that all tests of a module share."""
    sites = Sites(authority, tmp_path_factory.mktemp("steady"))
    yield sites
    sites.close()


@pytest.fixture
def sites(authority, tmp_path):
    made = Sites(authority, tmp_path)
    yield made
    made.close()
