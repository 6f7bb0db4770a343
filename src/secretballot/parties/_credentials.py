"""Certificates and keys of mutual TLS, from files, and the names in callers' certificates."""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from secretballot.parties._grpc import load_grpc

if TYPE_CHECKING:
    import grpc

File = str | os.PathLike[str]


@dataclass(frozen=True)
class Credentials:
    """Files with which one side proves its name by TLS, and checks the other side's.

    Parameters
    ----------
    authority : path
        Certificates, in PEM, of the authority that signs everybody's certificates.
    certificate : path
        Own certificate, and its chain, in PEM.
    key : path, default=None
        Private key of the certificate, in PEM and not encrypted. None: in the certificate's file.

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

    def for_server(self) -> grpc.ServerCredentials:
        """Build gRPC's credentials of a server, which asks callers for a certificate."""
        root, chain, key = self._contents()
        return load_grpc().ssl_server_credentials(
            [(key, chain)], root_certificates=root, require_client_auth=True
        )

    def for_caller(self) -> grpc.ChannelCredentials:
        """Build gRPC's credentials of a caller."""
        root, chain, key = self._contents()
        return load_grpc().ssl_channel_credentials(root, key, chain)

    def _contents(self) -> tuple[bytes, bytes, bytes]:
        key = self.certificate if self.key is None else self.key
        root, chain, secret = (
            Path(path).read_bytes() for path in (self.authority, self.certificate, key)
        )
        return root, chain, secret


def caller_name(context: grpc.ServicerContext, names: Collection[str]) -> str:
    """Return the one of the allowed names that a caller's certificate has.

    A certificate with none of them, or several, is a PermissionError.
    """
    certified = set[str]()
    for certificate in context.auth_context().get("x509_pem_cert", ()):
        try:
            certified |= certificate_names(certificate)
        except Exception:  # whatever a signed certificate holds
            raise PermissionError("the names in a certificate can't be read") from None
    callers = sorted(certified & set(names))
    if len(callers) != 1:
        fault = f"more than one party, {callers}" if callers else "no party that is expected"
        raise PermissionError(f"the certificate of {sorted(certified)} names {fault}")
    return callers[0]


def certificate_names(pem: bytes) -> set[str]:
    """Return every common name of the subject, and every DNS name and address in subjectAltName.

    gRPC itself reports the first common name alone, up to a NUL.
    """
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem)
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = {str(attribute.value) for attribute in common}
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return names
    addresses = map(str, extension.value.get_values_for_type(x509.IPAddress))
    return names.union(extension.value.get_values_for_type(x509.DNSName), addresses)
