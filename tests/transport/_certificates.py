"""Certificates of an authority that only the tests know, as files for other processes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import trustme

from secretballot.parties._channel import Credentials

HOST = "127.0.0.1"


class Authority:
    """Issues certificates, and makes credentials from them."""

    def __init__(self, folder):
        self.folder, self._ca = folder, trustme.CA()
        self._ca.cert_pem.write_to_path(folder / "authority.pem")
        self.issue("server", HOST)

    def issue(self, file, *names, common_name=None, expired=False):
        """Write a certificate with its key."""
        now = datetime.now(UTC)
        until = now - timedelta(days=1) if expired else None
        since = now - timedelta(days=2) if expired else None
        made = self._ca.issue_cert(
            *names, common_name=common_name, not_before=since, not_after=until
        )
        made.private_key_and_cert_chain_pem.write_to_path(self.folder / f"{file}.pem")

    def made(self, name):
        """The name, which has a certificate."""
        if not (self.folder / f"{name}.pem").exists():
            self.issue(name, common_name=name)
        return name

    def of_party(self, name):
        """Credentials of a party of that name."""
        return credentials(self.folder, self.made(name))

    def of_server(self):
        return credentials(self.folder, "server")


def credentials(folder, file, trusted=None):
    """What a user would write."""
    return Credentials((trusted or folder) / "authority.pem", folder / f"{file}.pem")
