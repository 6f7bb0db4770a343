"""Keys of a witness, and heads that are signed with them."""

import os
import stat
import sys
import threading

import pytest
from tests._commands import ledger_command
from tests._fakes import basic_budget, spend, tamper
from tests._programs import run_python

from secretballot.accounting import LedgerError, WitnessError
from secretballot.accounting.witnessing import make_key_pair
from secretballot.accounting.witnessing._signing_keys import read_public_keys, read_signing_key


def test_a_private_key_is_its_owners_alone(place):
    if os.name == "posix":
        assert stat.S_IMODE(place.key.stat().st_mode) == 0o600
    secret, (public,) = read_signing_key(place.key), read_public_keys(place.public).values()
    assert secret.public_key() == public


@pytest.mark.parametrize("name", ["key", "key.pub"])
def test_no_key_is_written_over(tmp_path, name, capsys):
    (tmp_path / name).write_text("precious")
    with pytest.raises(WitnessError, match="exists already, and no key is written over"):
        make_key_pair(tmp_path / "key")
    status, _, errors = ledger_command(capsys, "key", tmp_path / "key")
    assert status == 1
    assert "no key is written over" in errors
    assert (tmp_path / name).read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_no_folder_for_a_key(tmp_path):
    with pytest.raises(WitnessError, match="can't be written"):
        make_key_pair(tmp_path / "missing" / "key")


def test_the_command_line_makes_keys_and_signs(place, accountant, tmp_path, capsys):
    status, output, errors = ledger_command(capsys, "key", tmp_path / "new")
    assert (status, errors) == (0, "")
    (key_id,) = read_public_keys(tmp_path / "new.pub")
    assert key_id in output
    signed = ("witness", place.ledger, "--key", tmp_path / "new", "--to", place.log)
    status, output, errors = ledger_command(capsys, *signed)
    assert (status, errors) == (0, "")
    assert f"2 entries, head digest {accountant._ledger.verify().digest}" in output
    assert place.log.read_text().count("\n") == 1
    assert "PRIVATE" not in output
    assert ledger_command(capsys, "witness", place.ledger)[0] == 2


def test_keys_that_are_none(place, tmp_path):
    other = tmp_path / "other"
    with pytest.raises(WitnessError, match="can't be read"):
        read_signing_key(other)
    other.write_text("nonsense")
    with pytest.raises(WitnessError, match="no private Ed25519 key in PEM"):
        read_signing_key(other)
    with pytest.raises(WitnessError, match="no public key in PEM"):
        read_public_keys(other)
    with pytest.raises(WitnessError, match="no private Ed25519 key"):
        read_signing_key(place.public)
    with pytest.raises(WitnessError, match="holds a private key. Give the public one"):
        read_public_keys(place.key)
    other.write_bytes(b"x" * 100_000)
    with pytest.raises(WitnessError, match="more than 65536 bytes"):
        read_public_keys(other)
    with pytest.raises(WitnessError, match="it is no file"):
        read_public_keys(tmp_path)


def test_keys_of_another_kind_and_encrypted_ones(place, tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, other = ec.generate_private_key(ec.SECP256R1()), tmp_path / "other"
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    other.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    with pytest.raises(WitnessError, match="no private Ed25519 key"):
        read_signing_key(other)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    other.write_bytes(key.public_key().public_bytes(pem, public))
    with pytest.raises(WitnessError, match="not Ed25519"):
        read_public_keys(other)
    secret = read_signing_key(place.key)
    locked = serialization.BestAvailableEncryption(b"words")
    other.write_bytes(secret.private_bytes(pem, form, locked))
    with pytest.raises(WitnessError, match="is encrypted, and passphrases"):
        read_signing_key(other)


def test_a_new_key_goes_on_with_the_log(place, accountant, tmp_path):
    place.sign()
    make_key_pair(tmp_path / "new")
    with pytest.raises(WitnessError, match="line 1: it is signed by an unknown key"):
        place.sign(key=tmp_path / "new")
    place.sign(key=tmp_path / "new", earlier_keys=place.public)
    with pytest.raises(WitnessError, match="line 2: it is signed by an unknown key"):
        place.witness.read()
    both = place.public.read_bytes() + (tmp_path / "new.pub").read_bytes()
    place.public.write_bytes(both)
    assert len(place.witness.read().heads) == 2


def test_a_ledger_with_a_fault_is_not_signed(place, accountant):
    place.sign()
    content = place.log.read_bytes()
    tamper(place.ledger, "UPDATE entry SET n_rows = n_rows + 1 WHERE sequence = 2")
    with pytest.raises(LedgerError, match="entry 2 does not follow"):
        place.sign()
    assert place.log.read_bytes() == content


def test_a_log_with_a_fault_is_not_continued(place, accountant):
    place.sign()
    place.log.write_bytes(place.log.read_bytes()[:-1])
    content = place.log.read_bytes()
    with pytest.raises(WitnessError, match="cut off"):
        place.sign()
    assert place.log.read_bytes() == content


def test_a_full_disk_leaves_no_half_line(place, accountant, monkeypatch):
    place.sign()
    content = place.log.read_bytes()

    def no_sync(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("secretballot.accounting.witnessing._publish_head.os.fsync", no_sync)
    with pytest.raises(WitnessError, match="can't be written.*No space"):
        place.sign()
    assert place.log.read_bytes() == content


def test_several_sign_while_others_spend(place):
    """Each waits for the others: no line is lost, mixed with another, or of fewer entries."""
    accountant, failures, stop = basic_budget(place.ledger, epsilon=1000.0), [], threading.Event()

    def sign():
        try:
            for _ in range(6):
                place.sign()
        except Exception as error:
            failures.append(error)
            raise

    def go_on():
        while not stop.is_set():
            spend(accountant)

    spender = threading.Thread(target=go_on)
    threads = [threading.Thread(target=sign) for _ in range(4)]
    try:
        for thread in (spender, *threads):
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        stop.set()
        spender.join(60)
    assert failures == []
    place.sign()
    assert accountant.statement(witness=place.witness).witness["n_heads"] == 25


WITHOUT = (
    "import sys, runpy; sys.modules['cryptography'] = None; sys.argv[:1] = ['secretballot']; "
    "runpy.run_module('secretballot', run_name='__main__', alter_sys=True)"
)


def test_without_cryptography(place, accountant, tmp_path):
    place.sign()
    done = run_python("-c", WITHOUT, "ledger", "verify", place.ledger)
    assert (done.returncode, done.stderr) == (0, "")
    options = ("--witness", place.log, "--witness-key", place.public)
    for arguments in (
        ("key", tmp_path / "new"),
        ("witness", place.ledger, "--key", place.key, "--to", place.log),
        ("verify", place.ledger, *options),
    ):
        done = run_python("-c", WITHOUT, "ledger", *arguments)
        assert done.returncode == 1
        assert "the extra `witness` of this package" in done.stderr
        assert "Traceback" not in done.stderr
    assert sys.modules["cryptography"] is not None
