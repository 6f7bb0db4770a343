"""Computing parties as on three machines: addresses that stay, and certificates on both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests._programs import run_python
from tests.computing._machines import HOST, machines
from tests.computing._votes import part

from secretballot.computing import Panel, Processes, Recipients, deliver
from secretballot.computing._computing_party import ComputingParty
from secretballot.transport import ChannelError, Connection, Credentials, Message, MessageError

trustme = pytest.importorskip("trustme", reason="makes certificates for the tests")
CERTIFICATES = {
    HOST: [HOST],
    "votes": ["votes"],
    "a": ["a", *(f"unknown-{at}" for at in range(200))],
    "ghost": ["ghost"],
    "two voters": ["a", "b"],
    "a voter and the coordinator": ["a", "votes"],
    "a voter and a computing party": ["a", HOST],
}


def shown(folder, who, authority="authority"):
    return Credentials(folder / "authority.pem", folder / f"{authority}-{who}.pem")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certificates")
    for name in ("authority", "other"):
        authority = trustme.CA()
        authority.cert_pem.write_to_path(made / f"{name}.pem")
        for who, names in CERTIFICATES.items():
            signed = authority.issue_cert(*names).private_key_and_cert_chain_pem
            signed.write_to_path(made / f"{name}-{who}.pem")
    return made


@pytest.fixture(scope="module")
def addresses(folder):
    with machines(
        folder / "authority.pem", folder / f"authority-{HOST}.pem", "ab"
    ) as computing_parties:
        yield computing_parties


def asked(address, method, credentials, **words):
    """What a computing party answers to one who shows a certificate."""
    with Connection(address, credentials=credentials) as connection:
        return connection.ask(method, Message("a", words), timeout=60)


def test_votes_between_machines(addresses, folder):
    coordinating, voting = shown(folder, "votes"), shown(folder, "a")
    one = part([[-1], [1]], bits=3)
    for _ in range(2):  # after a coordinator has gone, they serve the next one
        panel = Panel(addresses, "", timeout=60, credentials=coordinating)
        session = panel.begin([one.vote])
        there = Recipients(session, panel.addresses, timeout=60, credentials=voting)
        # Nobody sends under another's name, joins them, or holds votes.
        for name, certificate, message in (
            ("a", coordinating, "'votes' has another role"),
            ("b", voting, "certificate is that of 'a', not of 'b'"),
        ):
            with pytest.raises(ChannelError, match=message):
                deliver(name, [one], replace(there, credentials=certificate))
        for method in ("peer", "coordinate"):
            with pytest.raises(ChannelError, match="'a' has another role"):
                asked(addresses[2], method, voting)
        with pytest.raises(ChannelError, match="another vote is going on"):
            asked(addresses[2], "coordinate", coordinating)
        # Nor does one of them in another's place.
        for index in (0, 2, -1, True, "0", None):
            with pytest.raises(ChannelError, match="calls nobody|called before|expected type"):
                asked(addresses[2], "peer", shown(folder, HOST), index=index)
        deliver("a", [one], there)
        assert panel.winners(session, one.vote).tolist() == [[1], [0]]
        # Shares that have come are computed with by these three, and not by others.
        with pytest.raises(ChannelError, match="have come together already"):
            panel._ask("join", "joined", addresses=addresses[::-1])
        panel.close()


def test_the_coordinator_does_not_choose_computing_parties(addresses, folder):
    # They compute with each other's messages, and one that it names could be its own.
    with pytest.raises(ChannelError, match="the computing parties are"):
        Panel(addresses[::-1], "", timeout=60, credentials=shown(folder, "votes"))
    Panel(addresses, "", timeout=60, credentials=shown(folder, "votes")).close()


def test_one_certificate_is_of_one_voter(addresses, folder):
    panel = Panel(addresses, "", timeout=60, credentials=shown(folder, "votes"))
    one = part([[1]], voters="ab")
    session = panel.begin([one.vote])
    there = Recipients(session, panel.addresses, timeout=60)
    for who in list(CERTIFICATES)[3:]:
        for name in ("a", "b", "ghost"):
            with pytest.raises(ChannelError, match="names (no|more than one) party"):
                deliver(name, [one], replace(there, credentials=shown(folder, who)))
    # Nor do others hold votes, or compute, with such a certificate.
    for who in ("a voter and the coordinator", "a voter and a computing party", "ghost"):
        for method in ("coordinate", "peer"):
            with pytest.raises(ChannelError, match="names (no|more than one) party"):
                asked(addresses[2], method, shown(folder, who), index=0)
    # And a voter divides its noise among those alone who may vote.
    ghosts = part([[1]], voters=["a", "b", *(f"ghost {at}" for at in range(200))])
    with pytest.raises(ChannelError, match="for another vote"):
        deliver("a", [ghosts], replace(there, credentials=shown(folder, "a")))
    assert panel.received(session) == [set()] * 3
    with pytest.raises(ChannelError, match="200 who may not vote, such as 'ghost 0'"):
        panel.begin([ghosts.vote])
    panel.close()


def test_callers_without_a_certificate_of_the_authority_are_refused(addresses, folder):
    there = Recipients("any", addresses, timeout=60, credentials=shown(folder, "a", "other"))
    with pytest.raises(ChannelError, match="no connection"):
        deliver("a", [part([[1]])], there)
    # Nor is TLS left out.
    with pytest.raises(ChannelError):
        deliver("a", [part([[1]])], Recipients("any", addresses, timeout=5))


def test_modules_in_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    Processes(timeout=60).close()


def test_the_program_names_missing_options():
    done = run_python("-m", "secretballot.computing", "--listen", "here:1")
    assert done.returncode == 2
    assert "--listen: here:1" not in done.stderr
    assert "required: --certificate, --key, --authority" in done.stderr
    assert (
        "here must be HOST:PORT"
        in run_python("-m", "secretballot.computing", "--listen", "here").stderr
    )


@pytest.mark.parametrize("twice", [["a", "a"], ["a", "votes"], ["a", HOST]])
def test_one_name_has_one_role(twice):
    files = [text for name in ("certificate", "key", "authority") for text in (f"--{name}", "x")]
    panel = ["--computing", *(f"{HOST}:{at}" for at in (1, 2, 3)), "--coordinator", "votes"]
    options = ["--listen", f"{HOST}:1", *files, *panel, "--voters", *twice]
    done = run_python("-m", "secretballot.computing", *options)
    assert done.returncode == 2
    assert "must all differ" in done.stderr


@pytest.mark.parametrize("index", [True, 1.0, -1, 3, None, "1", [1]])
def test_the_coordinator_sends_no_invalid_index(index):
    # MPyC would read it as an option of its command line, and end the program.
    with pytest.raises(MessageError, match="none of three|expected type"):
        ComputingParty("")._join({"index": index, "addresses": [[HOST, 1]] * 3})
