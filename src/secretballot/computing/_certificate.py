"""Who somebody is, by the certificate that was shown, and settings with which it must be shown."""

from __future__ import annotations

import ssl
from typing import Any

_OLDEST = ssl.TLSVersion.TLSv1_2


def certificate_names(certificate: Any) -> set[str]:
    """Return whom a certificate is of: its common name, and the hosts that it names.

    Parameters
    ----------
    certificate : dict or None
        From ``getpeercert()``, after the authority was verified.
    """
    given: Any = certificate or {}
    subject = (pair for part in given.get("subject", ()) for pair in part)
    names = {value for key, value in subject if key == "commonName"}
    others = given.get("subjectAltName", ())
    return names | {value for kind, value in others if kind in ("DNS", "IP Address")}


def check_context(context: ssl.SSLContext, *, server: bool) -> None:
    """Refuse settings with which one side would not know who the other is."""
    if not isinstance(context, ssl.SSLContext):
        raise TypeError(f"context={context!r} must be an ssl.SSLContext.")
    wrong = ssl.PROTOCOL_TLS_CLIENT if server else ssl.PROTOCOL_TLS_SERVER
    if context.protocol == wrong:
        side = "PROTOCOL_TLS_SERVER" if server else "PROTOCOL_TLS_CLIENT"
        raise ValueError(f"context is for the other side; make it with ssl.{side}.")
    if context.verify_mode != ssl.CERT_REQUIRED:
        raise ValueError(
            f"context.verify_mode={context.verify_mode!r} lets in who shows no certificate; set it "
            "to ssl.CERT_REQUIRED, and load the authority that the parties trust."
        )
    if not server and not context.check_hostname:
        raise ValueError(
            "context.check_hostname=False would take any party for the aggregator; set it to True."
        )
    lowest = context.minimum_version
    if lowest == ssl.TLSVersion.MINIMUM_SUPPORTED or lowest < _OLDEST:
        raise ValueError(
            f"context.minimum_version={lowest!r} allows broken versions of TLS; set it to "
            "ssl.TLSVersion.TLSv1_3."
        )
