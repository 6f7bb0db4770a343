"""Logs of signed heads that are altered, cut off, reordered or by others."""

import json
import os
import re
from dataclasses import replace

import pytest
from tests._fakes import basic_budget, spend

from secretballot.accounting import WitnessError
from secretballot.accounting.witnessing import SignedHead, make_key_pair
from secretballot.accounting.witnessing._signing_keys import read_signing_key

FIELDS = ["format", "version", "ledger_id", "n_entries", "digest", "time", "key_id", "signature"]


@pytest.fixture
def signed(place, accountant):
    """Log of heads of 2, 3 and 4 entries."""
    place.sign()
    for _ in range(2):
        spend(accountant)
        place.sign()
    return place


def lines(place):
    return place.log.read_bytes().splitlines(keepends=True)


def resigned(place, line, **changes):
    """Return a line with other values, signed anew."""
    head = replace(SignedHead.from_line(line), **changes)
    return head.signed(read_signing_key(place.key)).line


def refused(place, content, message):
    place.log.write_bytes(content)
    with pytest.raises(WitnessError, match=message) as error:
        place.witness.read()
    return str(error.value)


def test_heads(signed):
    heads = signed.witness.read().heads
    assert [head.n_entries for head in heads] == [2, 3, 4]
    assert all(re.fullmatch(r"[0-9a-f]{64}", head.digest) for head in heads)
    assert [SignedHead.from_line(head.line) for head in heads] == list(heads)
    assert list(json.loads(heads[0].line)) == FIELDS


def test_the_signature_is_of_what_the_format_says(signed):
    """The page of the format alone, and no function of the library."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(signed.public.read_bytes())
    for line in signed.log.read_text().splitlines():
        head = json.loads(line)
        content = [head[name] for name in FIELDS[:-1]]
        key.verify(
            bytes.fromhex(head["signature"]), json.dumps(content, separators=(",", ":")).encode()
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ledger_id", "0" * 32),
        ("n_entries", 3),
        ("digest", "0" * 64),
        ("time", "2020-01-01T00:00:00+00:00"),
        ("signature", "0" * 128),
    ],
)
def test_an_altered_field(signed, name, value):
    first, *rest = lines(signed)
    altered = json.dumps({**json.loads(first), name: value}).encode() + b"\n"
    message = refused(signed, b"".join([altered, *rest]), "line 1: its signature is wrong")
    assert "heads" in message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", "another", "no signed head of secretballot"),
        ("version", 2, "it has version 2"),
        ("version", True, "it has version True"),
        ("n_entries", -1, "n_entries must be"),
        ("n_entries", True, "n_entries must be"),
        ("n_entries", 1.5, "n_entries must be"),
        ("digest", "ABC", "digest must have 64"),
        ("signature", None, "signature must have 128"),
        ("time", "noon", "time must be"),
        ("time", "2026-01-01", "time must be"),
        ("time", 5, "time must be"),
    ],
)
def test_values_that_are_none(signed, name, value, message):
    first, *rest = lines(signed)
    altered = json.dumps({**json.loads(first), name: value}).encode() + b"\n"
    refused(signed, b"".join([altered, *rest]), f"line 1: .*{message}")


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"nonsense", b"\xff\xfe", b"[" * 5000, b"1" * 5000, b"null"]
)
def test_lines_that_are_no_heads(signed, line):
    refused(signed, line + b"\n" + b"".join(lines(signed)), "line 1: it is no")


def test_fields_missing_and_added(signed):
    first = json.loads(lines(signed)[0])
    for wrong in ({**first, "more": 1}, {k: v for k, v in first.items() if k != "time"}):
        refused(signed, json.dumps(wrong).encode() + b"\n", "line 1: it must have the fields")


def test_a_cut_off_log(signed):
    content = signed.log.read_bytes()
    assert len(content) > 1000
    for end in (len(content) - 1, len(content) - 100, 5):
        refused(signed, content[:end], "is cut off in line")


def test_an_unknown_key(signed, tmp_path):
    make_key_pair(tmp_path / "other")
    key_id = SignedHead.from_line(lines(signed)[0]).key_id
    signed.public.write_bytes((tmp_path / "other.pub").read_bytes())
    refused(signed, signed.log.read_bytes(), f"line 1: it is signed by an unknown key, {key_id}")


def test_a_signature_by_another_key_under_this_keys_name(signed, tmp_path):
    make_key_pair(tmp_path / "other")
    head = SignedHead.from_line(lines(signed)[0])
    forged = head.signed(read_signing_key(tmp_path / "other"))
    forged = replace(forged, key_id=head.key_id)
    refused(signed, forged.line, "its signature is wrong")


def test_heads_must_grow(signed):
    first, second, third = lines(signed)
    refused(signed, first + third + second, "line 3: it is of 3 entries, and the line before of 4")
    fork = resigned(signed, second, digest="0" * 64)
    refused(signed, first + second + fork, "line 3: it has another digest .* a fork")
    refused(
        signed, first + resigned(signed, second, ledger_id="0" * 32), "line 2: it is of another"
    )
    # A head may be repeated: nothing was spent since.
    signed.log.write_bytes(first + second + second)
    assert len(signed.witness.read().heads) == 3


def test_a_log_that_is_not_there(place):
    with pytest.raises(WitnessError, match="can't be read.*No such file"):
        place.witness.read()
    place.log.mkdir()
    with pytest.raises(WitnessError, match="it is a folder; name the file in it"):
        place.witness.read()
    basic_budget(place.ledger)
    with pytest.raises(WitnessError, match="no regular file; name a file"):
        place.sign()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(place):
    os.mkfifo(place.log)
    basic_budget(place.ledger)
    for ask in (place.witness.read, place.sign):
        with pytest.raises(WitnessError, match="no regular file"):
            ask()
