"""The server of a ledger's page: it reads alone, by its own name alone, in bounded time."""

import http.client
import os
import signal
import socket
import sys
import threading
import time

import pytest
from tests._commands import ledger_command
from tests._fakes import basic_budget, spend
from tests._programs import interrupts_arrive, python_environment, running_program
from tests.serving._served import served

from secretballot.serving import LedgerPage, PageServer, _page_server

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@pytest.fixture
def path(tmp_path):
    spend(basic_budget(tmp_path / "survey.ledger"), 2)
    return tmp_path / "survey.ledger"


@pytest.fixture
def page(path):
    with served(path) as page:
        yield page


def check_headers(headers):
    for name, value in HEADERS.items():
        assert headers.get_all(name) == [value]
    (policy,) = headers.get_all("Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        **dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'"),
        "style-src": "'unsafe-inline'",
    }
    assert headers["Server"].strip() == "secretballot"


@pytest.mark.parametrize("place", ["/", "/statement", "/statement.json", "/?a=b"])
def test_pages(page, place):
    status, headers, text = page.ask(place)
    assert status == 200
    check_headers(headers)
    assert int(headers["Content-Length"]) == len(text.encode())
    status, of_head, nothing = page.ask(place, "HEAD")
    assert (status, nothing) == (200, "")
    check_headers(of_head)
    assert of_head["Content-Type"] == headers["Content-Type"]


@pytest.mark.parametrize(
    "method",
    ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "SPEND"],
)
@pytest.mark.parametrize("place", ["/", "/none"])
def test_nothing_but_reading(page, path, method, place):
    content = path.read_bytes()
    status, headers, text = page.ask(place, method)
    assert status == 405
    assert headers["Allow"] == "GET, HEAD"
    check_headers(headers)
    assert text == "405 Method Not Allowed: pages are read, and nothing else\n"
    assert path.read_bytes() == content


def test_a_body_is_read_and_dropped(page):
    connection = http.client.HTTPConnection(*page.server.server_address[:2], timeout=30)
    connection.request("POST", "/", body=b"x" * 50_000)
    assert connection.getresponse().status == 405
    connection.close()


@pytest.mark.parametrize(
    "place", ["/none", "/statement/", "/../etc/passwd", "/survey.ledger", "/%2e%2e/", "*"]
)
def test_other_places(page, place):
    status, headers, text = page.ask(place)
    assert (status, text) == (404, "404 Not Found: there is no such page\n")
    check_headers(headers)
    assert headers["Content-Type"] == "text/plain; charset=utf-8"


def test_only_its_own_name(page):
    port = page.server.server_port
    for own in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        assert page.ask(Host=own)[0] == 200
    names = ("evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "127.0.0.1.", "")
    for other in (
        *(f"{name}:{port}" for name in (*names, "0.0.0.0", "::1")),
        *("evil.example", "127.0.0.1", "localhost", "", f"127.0.0.1:{port + 1}"),
        f"localhost:{port}, evil.example",
    ):
        for place in ("/", "/statement.json"):
            status, headers, text = page.ask(place, Host=other)
            assert status == 421, other
            check_headers(headers)
            assert text == "421 Misdirected Request: this server has another name\n"


def exchange(page, content):
    """Send bytes, and return all that comes back."""
    with socket.create_connection(page.server.server_address[:2], timeout=30) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer


def test_requests_without_a_name_or_with_two(page):
    own = f"127.0.0.1:{page.server.server_port}".encode()
    for lines in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + own + b"\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + own + b"\r\nHost: " + own + b"\r\n\r\n",
    ):
        answer = exchange(page, lines)
        assert answer.startswith(b"HTTP/1.0 421 ")
        assert b"survey" not in answer
    assert exchange(page, b"GET /\r\n\r\n").startswith(b"HTTP/1.0 421 ")
    whole = b"GET http://evil.example/ HTTP/1.1\r\nHost: " + own + b"\r\n\r\n"
    assert exchange(page, whole).startswith(b"HTTP/1.0 404 ")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET / <script>alert(1)</script>\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: x\r\n" * 200 + b"\r\n", b"431"),
        (b"\x00\xff\xfe\r\n\r\n", b"400"),
    ],
)
def test_malformed_requests(page, content, status):
    answer = exchange(page, content)
    assert answer.split()[1] == status
    assert b"script" not in answer
    assert b"Traceback" not in answer
    assert b"X-Content-Type-Options: nosniff" in answer
    assert page.ask()[0] == 200


def test_a_failure_gives_a_plain_page(page, monkeypatch):
    monkeypatch.setattr(LedgerPage, "overview", lambda self: 1 / 0)
    status, headers, text = page.ask()
    assert (status, text) == (500, "500 Internal Server Error: the page can't be made\n")
    check_headers(headers)
    assert page.complaints == ["ZeroDivisionError: division by zero"]


def test_requests_at_once_are_bounded(page, monkeypatch):
    """More wait to be accepted; no thread is made for them."""
    inside, most, lock, go_on = [0], [0], threading.Lock(), threading.Event()
    n_before = threading.active_count()

    def content(self, place):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        go_on.wait(30)
        with lock:
            inside[0] -= 1
        return ("text/plain", "ok")

    monkeypatch.setattr(PageServer, "content", content)
    answers = []
    asking = [
        threading.Thread(target=lambda: answers.append(page.ask()[0]), daemon=True)
        for _ in range(3 * _page_server.MAX_REQUESTS)
    ]
    for thread in asking:
        thread.start()
    deadline = time.monotonic() + 20
    while most[0] < _page_server.MAX_REQUESTS and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)  # time for one too many
    n_of_server = threading.active_count() - n_before - len(asking)
    go_on.set()
    for thread in asking:
        thread.join(30)
    assert most[0] == _page_server.MAX_REQUESTS
    # A thread for each request, and its timer.
    assert n_of_server <= 2 * _page_server.MAX_REQUESTS
    assert answers == [200] * len(asking)


def test_one_page_is_made_at_a_time(page, monkeypatch):
    making, most = [], []

    def overview(self):
        making.append(True)
        most.append(len(making))
        time.sleep(0.05)
        making.pop()
        return "ok"

    monkeypatch.setattr(LedgerPage, "overview", overview)
    asking = [threading.Thread(target=page.ask) for _ in range(5)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(30)
    assert most == [1] * 5


def test_a_place_is_free_again_where_no_thread_can_be_started(page, monkeypatch):
    def no_thread(self, request, client_address):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(_page_server.ThreadingHTTPServer, "process_request", no_thread)
        for _ in range(_page_server.MAX_REQUESTS + 1):
            with pytest.raises((http.client.HTTPException, OSError)):
                page.ask()
    assert page.ask()[0] == 200
    assert set(page.complaints) == {"RuntimeError: can't start new thread"}


def test_silent_and_slow_connections_are_cut(page, monkeypatch):
    monkeypatch.setattr(_page_server, "READ_SECONDS", 1.0)
    address = page.server.server_address[:2]
    silent = [socket.create_connection(address, timeout=30) for _ in range(12)]
    begun = time.monotonic()
    try:
        assert page.ask(timeout=60)[0] == 200
        # Letters that come one by one gain no time, nor does the body of a refused request.
        for begin in (
            b"GET / HTTP/1.1\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n",
        ):
            with socket.create_connection(address, timeout=30) as slow:
                slow.sendall(begin)
                for _ in range(80):
                    try:
                        slow.sendall(b"X: x\r\n")
                    except OSError:
                        break
                    time.sleep(0.05)
                else:
                    pytest.fail("a slow request was waited for")
    finally:
        for connection in silent:
            connection.close()
    assert time.monotonic() - begun < 30
    assert page.complaints == []


def test_while_others_spend(page, path):
    accountant, stop, failures = basic_budget(path.with_name("other.ledger"), 1e4), [], []
    with served(path.with_name("other.ledger")) as other:

        def go_on():
            while not stop:
                spend(accountant)

        def look():
            for _ in range(5):
                status = other.ask()[0]
                if status != 200:
                    failures.append(status)

        threads = [threading.Thread(target=look) for _ in range(4)]
        spender = threading.Thread(target=go_on)
        spender.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        stop.append(True)
        spender.join(60)
    assert failures == []
    assert other.complaints == []


def test_every_address_at_once_is_refused(path):
    for wrong in ("0.0.0.0", "::"):
        with pytest.raises(ValueError, match="is every address of this machine"):
            PageServer(LedgerPage(path), wrong)


def test_the_command_refuses_what_it_cannot_serve(path, page, capsys):
    taken = page.server.server_port
    for arguments, message in (
        (("--port", taken), "no page can be served there"),
        (("--host", "0.0.0.0"), "every address of this machine"),
        (("--host", "no.such.name.invalid"), "no page can be served there"),
    ):
        status, output, errors = ledger_command(capsys, "serve", path, *arguments)
        assert (status, output) == (1, "")
        assert message in errors
    for wrong in ("x", "65536", "-1"):
        assert ledger_command(capsys, "serve", path, "--port", wrong)[0] == 2
    assert ledger_command(capsys, "serve", path.with_name("none"))[0] == 1


@pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to a process by its number")
def test_the_command_ends_by_ctrl_c(path, tmp_path):
    errors = tmp_path / "errors"
    with (
        errors.open("w") as said,
        interrupts_arrive(),
        running_program(
            *(sys.executable, "-m", "secretballot", "ledger", "serve", path, "--port", 0),
            env=python_environment(),
            stderr=said,
        ) as program,
    ):
        line = program.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        assert line.endswith("/ (Ctrl-C ends it)\n")
        port = int(line.split("/")[2].split(":")[1])
        # A request that is under way does not hold it up.
        with socket.create_connection(("127.0.0.1", port), timeout=30):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/")
            assert b"Budget of survey.ledger" in connection.getresponse().read()
            connection.close()
            program.send_signal(signal.SIGINT)
            assert program.wait(10) == 0
    assert errors.read_text() == ""
