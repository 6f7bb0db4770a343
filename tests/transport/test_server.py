"""Who may call a server, and what it bears: strangers, silence, too much, and its own end."""

import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest
from tests._programs import run_python
from tests.transport._certificates import HOST, credentials
from tests.transport._health import check_health

from secretballot.parties._channel import Connection, Credentials, Server, channel_options, target
from secretballot.parties._stream import (
    ChannelError,
    Message,
    MessageError,
    read_field,
    read_message,
)

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("north", "south")
SOON = 20


def echo(stream):
    asked = stream.receive(SOON, 2**20)
    stream.send(Message("echo", {"caller": stream.caller, **asked.fields}, asked.body))


def waiting(stream):
    if stream.receive(SOON).fields:
        stream.send(Message("begun"))
    stream.wait_closed()


@pytest.fixture(scope="module")
def server(authority):
    with serving(authority) as made:
        yield made


@contextmanager
def serving(authority, **options):
    methods = {"echo": echo, "waiting": waiting}
    with Server(
        (HOST, 0), methods, credentials=authority.of_server(), names=NAMES, **options
    ) as made:
        yield made


@contextmanager
def calling(server, authority, name="north"):
    certificate = credentials(authority.folder, authority.made(name))
    with Connection(server.address, credentials=certificate) as made:
        yield made


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 - 1])
def test_messages(size, server, authority):
    body = bytes(range(256)) * (size // 256 + 1)
    with calling(server, authority) as connection:
        answer = connection.ask(
            "echo", Message("a", {"n": [1, "ż"]}, body[:size]), timeout=SOON, max_bytes=2**20
        )
        assert answer.fields == {"caller": "north", "n": [1, "ż"]}
        assert bytes(answer.body) == body[:size]
        check_health(connection)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["zoe"], "certificate of \\['zoe'\\] names no party that is expected"),
        (["north", "south"], "names more than one party, \\['north', 'south'\\]"),
        ([HOST], "names no party"),
    ],
)
def test_names_that_are_refused(names, message, server, authority):
    authority.issue("refused", *names)
    with (
        calling(server, authority, "refused") as connection,
        pytest.raises(ChannelError, match=message),
    ):
        connection.ask("echo", Message("a"), timeout=SOON)


def test_certificates_that_are_refused(server, authority, others):
    others.issue("north", common_name="north")
    authority.issue("expired", common_name="north", expired=True)
    for certificate in (
        credentials(others.folder, "north", trusted=authority.folder),
        credentials(authority.folder, "expired"),
        credentials(authority.folder, authority.made("north"), trusted=others.folder),
    ):
        with (
            Connection(server.address, credentials=certificate) as connection,
            pytest.raises(ChannelError, match="no connection"),
        ):
            connection.ask("echo", Message("a"), timeout=SOON)
    # Without a certificate, and with the server's name wrong.
    root = (authority.folder / "authority.pem").read_bytes()
    with grpc.secure_channel(
        target(server.address), grpc.ssl_channel_credentials(root), channel_options(None, 30)
    ) as channel:
        with pytest.raises(grpc.RpcError) as error:
            channel.unary_unary("/secretballot/echo")(b"", timeout=SOON)
        assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    certificate = authority.of_party("north")
    with (
        Connection(server.address, credentials=certificate, server_name="other.org") as connection,
        pytest.raises(ChannelError, match="no connection"),
    ):
        connection.ask("echo", Message("a"), timeout=SOON)


def test_files_that_are_no_credentials(authority, tmp_path):
    good = authority.folder / "server.pem"
    with pytest.raises(FileNotFoundError, match="key='nowhere.pem' is no file"):
        Credentials(authority.folder / "authority.pem", good, "nowhere.pem")
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(ValueError, match="authority=.*holds no certificates"):
        Credentials(tmp_path / "empty.pem", good)
    with pytest.raises(ValueError, match="certificate=.*private key"):
        Credentials(authority.folder / "authority.pem", authority.folder / "authority.pem")
    authority.made("north")
    with pytest.raises(ValueError, match="KEY_VALUES_MISMATCH"):
        Credentials(authority.folder / "authority.pem", good, authority.folder / "north.pem")
    assert "key" not in repr(authority.of_server())


def test_limits(authority):
    with serving(authority, max_bytes=2**18) as server, calling(server, authority) as connection:
        with pytest.raises(ChannelError, match="more than 262,144 bytes are being sent"):
            connection.ask("echo", Message("a", {}, bytes(2**19)), timeout=SOON)
        for _ in range(3):  # and what was held is given back
            assert connection.ask("echo", Message("a"), timeout=SOON).kind == "echo"
        with pytest.raises(ChannelError, match="body of 65,536 bytes came, and 9 are allowed"):
            connection.ask("echo", Message("a", {}, bytes(2**16)), timeout=SOON, max_bytes=9)
        with pytest.raises(ValueError, match="fields of a message take"):
            connection.ask("echo", Message("a" * 2**20), timeout=SOON)
        with pytest.raises(ValueError, match="Out of range float"):
            connection.ask("echo", Message("a", {"n": float("nan")}), timeout=SOON)
        assert server._n_bytes == 0


@pytest.mark.parametrize(("max_bytes", "longest"), [(0, 2**16), (2**18, 2**16), (2**21, 2**18)])
def test_fields_beside_a_small_limit(max_bytes, longest):
    # Decoded JSON takes up to 32 times its length.
    for size, is_read in ((longest - 100, True), (longest + 1, False)):
        pieces = Message("a", {"text": "b" * size}).pieces()
        if is_read:
            assert len(read_message(pieces, max_bytes, int).fields["text"]) == size
        else:
            with pytest.raises(MessageError, match=f"and {longest:,} are allowed"):
                read_message(pieces, max_bytes, int)


@pytest.mark.parametrize(
    ("value", "right", "wrong"),
    [
        (1, [int, object], [str, float, bool, list[int], dict[str, int]]),
        (True, [bool], [int]),
        (-1, [], [int]),
        (1.0, [float], [int]),
        (None, [], [int, str, list[str]]),
        ([], [list[int], list[str]], [dict[str, int]]),
        ([0, 1], [list[int], list[object]], [list[str], list[list[int]]]),
        ([0, True], [], [list[int]]),
        ([["a"]], [list[list[str]]], [list[str], list[list[int]]]),
        ({"a": ["b"]}, [dict[str, list[str]]], [dict[str, str], list[str]]),
    ],
)
def test_types_of_fields(value, right, wrong):
    for kind in right:
        assert read_field({"a": value}, "a", kind) == value
    for kind in wrong:
        with pytest.raises(MessageError, match="a=.* is not of the expected type"):
            read_field({"a": value}, "a", kind)


RAW = [
    [b"x"],
    [b"[]"],
    [b"[" * 10**5],
    [b'{"kind":"a","size":1e9,"fields":{}}'],
    [b'{"kind":"a","size":-1,"fields":{}}'],
    [b'{"kind":"a","size":true,"fields":{}}'],
    [b'{"kind":"a","size":0,"fields":{"n":NaN}}'],
    [b'{"kind":"\\ud800","size":0,"fields":{}}'],
    [b'{"kind":"a","size":0,"fields":{},"more":0}'],
    [b'{"kind":"a","size":' + b"9" * 5_000 + b',"fields":{}}'],
    [b'{"kind":"a","size":2,"fields":{}}', b""],
    [b'{"kind":"a","size":2,"fields":{}}', b"abc"],
    [b'{"kind":"a","size":2,"fields":{}}', b"a"],
    [],
    [bytes(2**21)],
]


@pytest.mark.parametrize("pieces", RAW, ids=range(len(RAW)))
def test_invalid_messages_are_refused(pieces, server, authority):
    with calling(server, authority) as connection:
        call = connection._channel.stream_stream("/secretballot/echo")(iter(pieces), timeout=SOON)
        with pytest.raises(grpc.RpcError) as error:
            list(call)
        code = error.value.code()
        assert code in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert connection.ask("echo", Message("a"), timeout=SOON).kind == "echo"


def test_a_message_that_expands(server, authority):
    # A million spaces are a few bytes, compressed: gRPC must not expand them here.
    before = server.traffic.n_bytes
    with calling(server, authority) as connection:
        call = connection._channel.stream_stream("/secretballot/echo")(
            iter([b" " * 10**6]), timeout=SOON, compression=grpc.Compression.Gzip
        )
        with pytest.raises(grpc.RpcError) as error:
            list(call)
        assert error.value.code() in (
            grpc.StatusCode.UNIMPLEMENTED,
            grpc.StatusCode.FAILED_PRECONDITION,
        )
    assert server.traffic.n_bytes - before < 10**4


def test_late_messages(server, authority):
    with calling(server, authority) as connection:
        with pytest.raises(ChannelError, match="no message came in time"):
            connection.open("waiting").receive(0.1)
        with pytest.raises(ChannelError, match="no message came in time"):
            connection.ask("waiting", Message("a"), timeout=0.1)
    with socket.create_server((HOST, 0)) as silent:
        certificate = authority.of_party("north")
        with (
            Connection(silent.getsockname(), credentials=certificate) as connection,
            pytest.raises(ChannelError, match="in time"),
        ):
            connection.ask("echo", Message("a"), timeout=0.2)


def test_more_calls_than_one_caller_may_have(server, authority):
    with calling(server, authority) as many, calling(server, authority, "south") as other:
        lines = [many.open("waiting") for _ in range(12)]
        for line in lines:
            line.send(Message("a"))

        def error_of(line):
            """Wait long enough for a refusal on a busy machine; calls that are held never end."""
            with pytest.raises(ChannelError) as error:
                line.receive(3.0)
            return str(error.value)

        with ThreadPoolExecutor(len(lines)) as waiting:
            errors = list(waiting.map(error_of, lines))
        for line in lines:
            line.close()
        assert sum("'north' has 6 calls already" in error for error in errors) == 6
        assert other.ask("echo", Message("a"), timeout=SOON).kind == "echo"
        end = time.monotonic() + SOON
        while server._n_calls["north"] and time.monotonic() < end:
            time.sleep(0.01)
        assert many.ask("echo", Message("a"), timeout=SOON).kind == "echo"


def test_silent_and_slow_connections(server, authority):
    context = ssl.create_default_context(cafile=authority.folder / "authority.pem")
    context.load_cert_chain(authority.folder / f"{authority.made('north')}.pem")
    context.set_alpn_protocols(["h2"])
    with ExitStack() as stack:
        for at in range(200):
            plain = stack.enter_context(socket.create_connection(server.address))
            if at % 4 == 1:
                plain.sendall(b"\x16\x03\x01")
            if at % 20 == 2:
                secure = stack.enter_context(context.wrap_socket(plain, server_hostname=HOST))
                secure.sendall(b"PRI * HTTP/2.0")
        begun = time.monotonic()
        with calling(server, authority) as connection:
            assert connection.ask("echo", Message("a"), timeout=SOON).kind == "echo"
        assert time.monotonic() - begun < 1


def test_an_address_that_is_taken(server, authority):
    with pytest.raises(OSError, match="can't listen there"):
        Server(server.address, {}, credentials=authority.of_server(), names=NAMES)


def test_the_end_of_a_server(authority):
    with serving(authority) as server, calling(server, authority) as connection:
        line = connection.open("waiting")
        line.ask(Message("a", {"answer": True}), "begun", timeout=SOON)
        ending = threading.Timer(0.2, server.close)
        ending.start()
        with pytest.raises(ChannelError, match="the connection was lost"):
            line.receive(SOON)
        ending.join()
        with pytest.raises(ChannelError, match="no connection"):
            connection.ask("echo", Message("a"), timeout=SOON)
        with pytest.raises(grpc.RpcError):
            check_health(connection)


_FORGOTTEN = """
from pathlib import Path
from tests._programs import run_python
from tests.transport._certificates import HOST, credentials
from secretballot.parties._channel import Connection
from secretballot.parties._stream import Message
from secretballot.parties._channel import Server

def begin(stream):
    stream.receive(20)
    stream.send(Message("begun"))
    stream.wait_closed()

folder = Path({folder!r})
server = Server(
    (HOST, 0), {{"begin": begin}}, credentials=credentials(folder, "server"), names=["north"]
)
connection = Connection(server.start().address, credentials=credentials(folder, "north"))
print(connection.open("begin").ask(Message("a"), "begun", timeout=20).kind)
"""


def test_a_server_that_is_forgotten(authority):
    authority.made("north")
    script = _FORGOTTEN.format(folder=str(authority.folder))
    done = run_python("-c", script)
    assert (done.returncode, done.stdout) == (0, "begun\n")
