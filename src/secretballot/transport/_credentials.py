"""Certificates and keys of mutual TLS, from files."""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from secretballot.transport._certificate_names import names_in
from secretballot.transport._grpc import load_grpc

File = str | os.PathLike[str]


@dataclass(frozen=True)
class Credentials:
    """Files with which one side shows who it is, and checks who the other is.

    Parameters
    ----------
    authority : path
        Certificates, in PEM, of the authority that signs everybody's certificates.
    certificate : path
        Own certificate, and its chain, in PEM.
    key : path, default=None
        Private key of the certificate, in PEM and not encrypted. None: in the certificate's file.

    Notes
    -----
    Both sides always show a certificate, by TLS 1.2 or later.

    Examples
    --------
    ::

        Credentials("authority.pem", "north.pem", "north.key")
    """

    authority: File
    certificate: File
    key: File | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("authority", "certificate", "key"):
            path = getattr(self, name)
            if path is not None and not Path(path).is_file():
                raise FileNotFoundError(f"{name}={os.fspath(path)!r} is no file.")
        try:
            context = ssl.create_default_context(cafile=os.fspath(self.authority))
        except ssl.SSLError as error:
            raise ValueError(
                f"authority={os.fspath(self.authority)!r} holds no certificates in PEM ({error})."
            ) from None
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(
                f"certificate={os.fspath(self.certificate)!r}: it must hold a certificate in PEM, "
                "and key, or the same file, its private key in PEM, without a password "
                f"({error})."
            ) from None

    def for_server(self) -> Any:
        """Return gRPC's credentials of a server, which asks callers for a certificate."""
        root, chain, key = self._read()
        return load_grpc().ssl_server_credentials(
            [(key, chain)], root_certificates=root, require_client_auth=True
        )

    def for_caller(self) -> Any:
        """Return gRPC's credentials of a caller."""
        root, chain, key = self._read()
        return load_grpc().ssl_channel_credentials(root, key, chain)

    def _read(self) -> tuple[bytes, bytes, bytes]:
        key = self.certificate if self.key is None else self.key
        root, chain, secret = (
            Path(each).read_bytes() for each in (self.authority, self.certificate, key)
        )
        return root, chain, secret


def name_of_caller(context: Any, names: Collection[str]) -> str:
    """Return the one of some names that a caller's certificate holds.

    Parameters
    ----------
    context : grpc.ServicerContext
    names : collection of str
        All who are known.

    Raises
    ------
    PermissionError
        If the certificate names none of them, or several.
    """
    told = set[str]()
    for certificate in context.auth_context().get("x509_pem_cert", ()):
        try:
            told.update(names_in(certificate))
        except (ValueError, IndexError, StopIteration):
            raise PermissionError("the names in a certificate can't be read") from None
    known = sorted(told & set(names))
    if len(known) != 1:
        which = f"more than one party, {known}" if known else "no party that is expected"
        raise PermissionError(f"the certificate of {sorted(told)} names {which}")
    return str(known[0])
