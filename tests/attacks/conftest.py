"""Every attack but quick ones is marked slow, and reports its counts."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Certificates of voters, of a coordinator and of one who has no part in votes."""
    from tests.attacks._hostile_votes import authority_of_votes

    return authority_of_votes(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def addresses(authority):
    """Three computing parties, and their addresses."""
    from tests.attacks._hostile_votes import attacked

    with attacked(authority) as machines:
        yield machines


@pytest.fixture
def panel(addresses, authority):
    """The coordinator's connections to them."""
    from tests.attacks._hostile_votes import SOON
    from tests.transport._certificates import credentials

    from secretballot.computing import Panel

    connected = Panel(addresses, "", SOON, credentials(authority.folder, "votes"))
    yield connected
    connected.close()


@pytest.fixture
def counts(record_property):
    """Report one number of the attack: ``counts("releases compared", 40_000)``."""

    def report(what, number):
        # As text: NumPy's numbers can't be sent between the processes of a run.
        record_property(f"attack: {what}", str(number))

    return report
