"""A ledger, the keys of its witness, and its log of signed heads."""

import shutil
from types import SimpleNamespace

import pytest
from tests._fakes import basic_budget, spend

from secretballot.accounting import PrivacyAccountant, Witness
from secretballot.accounting.witnessing import make_key_pair, publish_head
from secretballot.ledger import Ledger

pytest.importorskip("cryptography", reason="cryptography is an extra: witness")


@pytest.fixture
def place(tmp_path):
    """Paths of a ledger, a log and a key pair; `sign` appends a head, `witness` reads them."""
    make_key_pair(tmp_path / "key")
    paths = SimpleNamespace(
        ledger=tmp_path / "survey.ledger",
        mark=tmp_path / "survey.ledger.mark",
        log=tmp_path / "heads",
        key=tmp_path / "key",
        public=tmp_path / "key.pub",
    )
    paths.witness = Witness(paths.log, paths.public)
    paths.sign = lambda ledger=paths.ledger, **options: publish_head(
        Ledger.open(ledger), options.pop("key", paths.key), paths.log, **options
    )
    return paths


@pytest.fixture
def accountant(place):
    """Two releases."""
    accountant = basic_budget(place.ledger)
    spend(accountant, 2)
    return accountant


@pytest.fixture
def restored(place, accountant):
    """Two entries, restored with their mark into the same files after a third was signed."""
    for path in (place.ledger, place.mark):
        shutil.copy(path, f"{path}.copy")
    spend(accountant)
    place.sign()
    for path in (place.ledger, place.mark):
        path.write_bytes(path.with_name(f"{path.name}.copy").read_bytes())
    # The mark alone can't see it.
    assert len(PrivacyAccountant.open(place.ledger).entries()) == 2
    return place
