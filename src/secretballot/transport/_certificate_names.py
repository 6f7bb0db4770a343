"""Names in a certificate whose signature has been checked."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator

#: The tag of extensions, and the identifiers of a common name and of alternative names.
_EXTENSIONS = 0xA3
_COMMON_NAME, _ALTERNATIVE_NAMES = b"\x55\x04\x03", b"\x55\x1d\x11"
#: Alternative names that are names of DNS, and addresses.
_DNS, _ADDRESS = 0x82, 0x87
#: Where a certificate without a version has its subject; with one it is a place later.
_SUBJECT, _VERSION = 4, 0xA0
#: Strings of DER that are no UTF-8.
_WIDE = {0x1C: "utf-32-be", 0x1E: "utf-16-be"}


def names_in(certificate: bytes) -> list[str]:
    """Return every common name of the subject, and every DNS name and address in subjectAltName.

    gRPC tells only the first common name, up to a NUL, and alternative names of any kind alike.

    Parameters
    ----------
    certificate : bytes
        In PEM.

    Raises
    ------
    ValueError
        If it is none.
    """
    whole = ssl.PEM_cert_to_DER_cert(certificate.decode("ascii"))
    ((_, signed),) = _parts(whole)
    fields = list(_parts(next(_parts(signed))[1]))
    subject = fields[_SUBJECT + (fields[0][0] == _VERSION)][1]
    extensions = [content for tag, content in fields if tag == _EXTENSIONS]
    return [*_common_names(subject), *_alternative_names(b"".join(extensions))]


def _common_names(subject: bytes) -> Iterator[str]:
    for _, several in _parts(subject):
        for _, one in _parts(several):
            (_, kind), (tag, value) = _parts(one)
            if kind == _COMMON_NAME:
                yield value.decode(_WIDE.get(tag, "utf-8"), errors="replace")


def _alternative_names(extensions: bytes) -> Iterator[str]:
    for _, all_of_them in _parts(extensions):
        for _, extension in _parts(all_of_them):
            (_, kind), *_, (_, value) = _parts(extension)
            if kind != _ALTERNATIVE_NAMES:
                continue
            for _, names in _parts(value):
                for tag, name in _parts(names):
                    if tag == _DNS:
                        yield name.decode("ascii", errors="replace")
                    elif tag == _ADDRESS:
                        yield str(ipaddress.ip_address(name))


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and content of each element of DER."""
    at = 0
    while at < len(data):
        tag, size, start = data[at], data[at + 1], at + 2
        if size >= 0x80:
            start += size - 0x80
            size = int.from_bytes(data[at + 2 : start], "big")
        at = start + size
        if at > len(data):
            raise ValueError("a certificate ends too early.")
        yield tag, data[start:at]
