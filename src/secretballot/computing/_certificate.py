"""Who somebody is, by the certificate that was shown."""

from __future__ import annotations

from typing import Any


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
