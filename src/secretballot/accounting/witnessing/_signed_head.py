"""Signed head of a ledger: a witness's word that it had an entry with a digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from secretballot.accounting.witnessing._signing_keys import key_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FORMAT, VERSION = "secretballot signed head", 1

_HEX = {"ledger_id": 32, "digest": 64, "key_id": 64, "signature": 128}


@dataclass(frozen=True, kw_only=True)
class SignedHead:
    """Number and digest of the last entry of a ledger, with the signature of a witness.

    Attributes
    ----------
    ledger_id : str
        The ledger.
    n_entries : int
        Number of its entries.
    digest : str
        Digest of the last; of a ledger without entries, that of its header.
    time : str
        Time of the signature by the witness's clock (UTC).
    key_id : str
        SHA-256 of the witness's public key.
    signature : str
        Ed25519 signature, in hexadecimal.
    """

    ledger_id: str
    n_entries: int
    digest: str
    time: str
    key_id: str
    signature: str = ""

    @property
    def line(self) -> bytes:
        """The head as a line of JSON."""
        values = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return f"{json.dumps(values)}\n".encode("ascii")

    @classmethod
    def from_line(cls, line: bytes) -> SignedHead:
        """Read a line of JSON, without a check of the signature; ValueError if it is no head."""
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError("it is no JSON; the file was cut off or altered") from None
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise ValueError("it is no signed head of secretballot")
        if (version := values.pop("version", None)) != VERSION or isinstance(version, bool):
            raise ValueError(
                f"it has version {version!r}, which this version of secretballot can't read"
            )
        names = {field.name for field in fields(cls)}
        if values.keys() != names:
            raise ValueError(f"it must have the fields {', '.join(sorted(names))}")
        _check_values(values)
        return cls(**values)

    def signed(self, key: Ed25519PrivateKey) -> SignedHead:
        """Return the head with the id and the signature of a key."""
        head = replace(self, key_id=key_id(key.public_key()))
        return replace(head, signature=key.sign(head._content()).hex())

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Check the signature."""
        from cryptography.exceptions import InvalidSignature

        try:
            key.verify(bytes.fromhex(self.signature), self._content())
        except InvalidSignature:
            return False
        return True

    def _content(self) -> bytes:
        """Return the bytes that are signed."""
        signed = [self.ledger_id, self.n_entries, self.digest, self.time, self.key_id]
        return json.dumps([FORMAT, VERSION, *signed], separators=(",", ":")).encode("ascii")


def _check_values(values: Mapping[str, object]) -> None:
    for name, length in _HEX.items():
        value = values[name]
        if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{length}}}", value):
            raise ValueError(f"its {name} must have {length} hexadecimal digits")
    number, time = values["n_entries"], values["time"]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError("its n_entries must be a number of entries")
    try:
        is_utc = isinstance(time, str) and datetime.fromisoformat(time).utcoffset() is not None
    except ValueError:
        is_utc = False
    if not is_utc:
        raise ValueError("its time must be an ISO 8601 time with an offset")
