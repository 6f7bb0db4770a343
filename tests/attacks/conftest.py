"""Every attack but quick ones is marked slow, and reports its counts."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def counts(record_property):
    """Report one number of the attack: ``counts("releases compared", 40_000)``."""

    def report(what, number):
        # As text: NumPy's numbers can't be sent between the processes of a run.
        record_property(f"attack: {what}", str(number))

    return report
