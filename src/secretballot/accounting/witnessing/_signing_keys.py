"""Ed25519 keys of a witness, in PEM files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from secretballot._errors import WitnessError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

File = str | os.PathLike[str]

#: Largest size of a file of keys.
_MAX_BYTES = 1 << 16

_PUBLIC_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


def check_installed() -> None:
    """Import cryptography; the ImportError names the extra that installs it."""
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Signed heads need cryptography: install the extra `witness` of this package."
        ) from error


def key_id(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the 32 bytes of a public key, in hexadecimal."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def make_key_pair(path: File) -> tuple[str, str]:
    """Make a key pair: the private key in a new file of mode 0600, the public one beside it.

    Return the path of the public key, ``PATH.pub``, and its id. WitnessError if either file exists.
    """
    check_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    secret, public = os.fspath(path), f"{os.fspath(path)}.pub"
    key = Ed25519PrivateKey.generate()
    private_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public_pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write_new(secret, private_pem, 0o600)
    try:
        _write_new(public, public_pem, 0o644)
    except BaseException:
        os.unlink(secret)
        raise
    return public, key_id(key.public_key())


def read_signing_key(path: File) -> Ed25519PrivateKey:
    """Read a private key; WitnessError if the file holds none."""
    check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    name = os.fspath(path)
    try:
        key = load_pem_private_key(_read(name), password=None)
    except TypeError:
        raise WitnessError(
            f"The key {name!r} is encrypted, and passphrases are not asked for. Give a key that "
            "`secretballot ledger key` made, on a disk that is encrypted."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        key = None  # the error may quote the file
    if not isinstance(key, Ed25519PrivateKey):
        raise WitnessError(
            f"The key {name!r} is no private Ed25519 key in PEM. `secretballot ledger key` makes "
            "one."
        )
    return key


def read_public_keys(path: File) -> Mapping[str, Ed25519PublicKey]:
    """Read one or several public keys of one file, by their ids; WitnessError if it holds none."""
    check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    name, keys = os.fspath(path), dict[str, Ed25519PublicKey]()
    content = _read(name)
    if b"PRIVATE KEY-----" in content:
        raise WitnessError(
            f"{name!r} holds a private key. Give the public one, which ends in .pub, and keep the "
            "private one where only the witness reads it."
        )
    for pem in _PUBLIC_PEM.findall(content):
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise WitnessError(f"{name!r} holds a public key that is not Ed25519 in PEM.")
        keys[key_id(key)] = key
    if not keys:
        raise WitnessError(
            f"{name!r} holds no public key in PEM. `secretballot ledger key` makes one."
        )
    return keys


def _read(path: str) -> bytes:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise OSError("it is no file")
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise WitnessError(f"The key {path!r} can't be read: {error}.") from None
    if len(content) > _MAX_BYTES:
        raise WitnessError(f"The key {path!r} can't be read: it has more than {_MAX_BYTES} bytes.")
    return content


def _write_new(path: str, content: bytes, mode: int) -> None:
    """Write a new file; WitnessError if there is one, which is left as it is."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise WitnessError(
            f"{path!r} exists already, and no key is written over: nothing was made. Name a new "
            "file."
        ) from None
    except (OSError, ValueError) as error:
        raise WitnessError(f"The key {path!r} can't be written: {error}.") from None
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise WitnessError(f"The key {path!r} can't be written: {error}.") from None
