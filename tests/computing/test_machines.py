"""Computing parties as on three machines: addresses that stay, and certificates on both sides."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys

import numpy as np
import pytest

from secretballot.computing import LineError, Panel, Part, Recipients, deliver

trustme = pytest.importorskip("trustme", reason="makes certificates for the tests")
HOST = "127.0.0.1"
ONE = [Part((0,), np.array([[1]]), "negative", 1)]


def context(folder, authority="authority"):
    made = ssl.create_default_context(cafile=folder / "authority.pem")
    made.load_cert_chain(folder / f"{authority}-signed.pem")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certificates")
    for name in ("authority", "other"):
        authority = trustme.CA()
        authority.cert_pem.write_to_path(made / f"{name}.pem")
        signed = authority.issue_cert(HOST).private_key_and_cert_chain_pem
        signed.write_to_path(made / f"{name}-signed.pem")
    return made


@pytest.fixture(scope="module")
def addresses(folder):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    taken = [socket.create_server((HOST, 0)) for _ in range(3)]
    found = [each.getsockname() for each in taken]
    for each in taken:
        each.close()
    signed, authority = str(folder / "authority-signed.pem"), str(folder / "authority.pem")
    files = ["--certificate", signed, "--key", signed, "--authority", authority]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "secretballot.computing", "--listen", f"{HOST}:{port}", *files],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for _, port in found
    ]
    try:
        assert [int(each.stdout.readline()) for each in running] == [port for _, port in found]
        yield found
    finally:
        for each in running:
            each.kill()
            each.wait()
            each.stdout.close()


def test_votes_between_machines(addresses, folder):
    known = context(folder)
    for _ in range(2):  # after a coordinator has gone, they serve the next one
        panel = Panel(addresses, "", timeout=60, context=known)
        there = Recipients(panel.begin(), panel.addresses, timeout=60, context=known)
        deliver("a", [Part((0,), np.array([[-1], [1]]), "negative", 1)], there)
        won = panel.winners(there.session, (0,), "a", slice(0, 2), bits=3)
        assert won.tolist() == [[1], [0]]
        panel.close()


def test_who_has_no_certificate_of_the_authority_is_not_heard(addresses, folder):
    there = Recipients("any", addresses, timeout=60, context=context(folder, "other"))
    with pytest.raises(LineError):
        deliver("a", ONE, there)
    without = ssl.create_default_context(cafile=folder / "authority.pem")
    with pytest.raises(LineError):
        deliver("a", ONE, Recipients("any", addresses, context=without))
    # Nor is TLS left out.
    with pytest.raises(LineError):
        deliver("a", ONE, Recipients("any", addresses))


def test_the_program_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "secretballot.computing", "--listen", "here:1"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 2
    assert "--certificate is missing" in done.stderr
