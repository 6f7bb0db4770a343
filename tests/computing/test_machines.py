"""Computing parties as on three machines: addresses that stay, and certificates on both sides."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.computing._machines import HOST, machines

from secretballot.computing import LineError, Panel, Part, Processes, Recipients, deliver
from secretballot.computing._wire import Line

trustme = pytest.importorskip("trustme", reason="makes certificates for the tests")
ONE = [Part((0,), np.array([[1]]), "negative", "a", 2)]


def context(folder, who, authority="authority"):
    made = ssl.create_default_context(cafile=folder / "authority.pem")
    made.load_cert_chain(folder / f"{authority}-{who}.pem")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certificates")
    for name in ("authority", "other"):
        authority = trustme.CA()
        authority.cert_pem.write_to_path(made / f"{name}.pem")
        for who in (HOST, "votes", "a"):
            signed = authority.issue_cert(who).private_key_and_cert_chain_pem
            signed.write_to_path(made / f"{name}-{who}.pem")
    return made


@pytest.fixture(scope="module")
def addresses(folder):
    with machines(folder / "authority.pem", folder / f"authority-{HOST}.pem") as found:
        yield found


def test_votes_between_machines(addresses, folder):
    coordinating, voting = context(folder, "votes"), context(folder, "a")
    for _ in range(2):  # after a coordinator has gone, they serve the next one
        panel = Panel(addresses, "", timeout=60, context=coordinating)
        there = Recipients(panel.begin(), panel.addresses, timeout=60, context=voting)
        # Nobody sends under another's name, joins them, or holds votes.
        for name, part in (("a", coordinating), ("b", voting)):
            with pytest.raises(LineError, match=f"and not of \\['{name}'\\]"):
                deliver(name, ONE, replace(there, context=part))
        for role, name in (("peer", HOST), ("coordinator", "votes")):
            with pytest.raises(LineError, match=rf"that of \['a'\], and not of \['{name}'\]"):
                Line(addresses[2], {"role": role}, timeout=60, context=voting)
        deliver("a", [Part((0,), np.array([[-1], [1]]), "negative", "a", 3)], there)
        won = panel.winners(there.session, (0,), "a", slice(0, 2))
        assert won.tolist() == [[1], [0]]
        # Shares that have come are computed with by these three, and not by others.
        with pytest.raises(LineError, match="have come together already"):
            panel._ask({"do": "join", "addresses": addresses[::-1]}, index=True)
        panel.close()


def test_who_holds_votes_names_no_computing_parties(addresses, folder):
    # They run each other's messages, and one that it names could be its own.
    with pytest.raises(LineError, match="ValueError: the computing parties are"):
        Panel(addresses[::-1], "", timeout=60, context=context(folder, "votes"))
    Panel(addresses, "", timeout=60, context=context(folder, "votes")).close()


def test_who_has_no_certificate_of_the_authority_is_not_heard(addresses, folder):
    there = Recipients("any", addresses, timeout=60, context=context(folder, "a", "other"))
    with pytest.raises(LineError):
        deliver("a", ONE, there)
    without = ssl.create_default_context(cafile=folder / "authority.pem")
    with pytest.raises(LineError):
        deliver("a", ONE, Recipients("any", addresses, context=without))
    # Nor is TLS left out.
    with pytest.raises(LineError):
        deliver("a", ONE, Recipients("any", addresses))


def test_what_lies_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    Processes(timeout=60).close()


def test_the_program_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "secretballot.computing", "--listen", "here:1"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 2
    assert "--certificate is missing" in done.stderr
