"""HTTP server of a ledger's page, on loopback unless another address is named."""

from __future__ import annotations

import ipaddress
import os
import socket
import socketserver
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from secretballot.accounting import LedgerError
from secretballot.serving._ledger_page import LedgerPage

#: Requests at once, each in a thread; others wait to be accepted.
MAX_REQUESTS = 8
#: Seconds for reading a request, and for each write.
READ_SECONDS, WRITE_SECONDS = 15.0, 15.0
#: Bytes of a refused request's body that are read, so that its sender reads the answer.
_MAX_BODY = 1 << 16

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_METHODS = "GET, HEAD"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Connection": "close",
}
_HTML, _JSON, _TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"

_UNREADABLE = (
    "The ledger has a fault, lacks what its witness signed, or can't be read now. On its machine, "
    "`secretballot ledger verify` says which."
)


class PageServer(ThreadingHTTPServer):
    """Server of the pages about a ledger, bounded in requests at once and in their time.

    Parameters
    ----------
    page : LedgerPage
    host : str, default="127.0.0.1"
        Address or name to listen at, which requests must name.
    port : int, default=0
        Port; 0 takes a free one.
    """

    daemon_threads = True  # a request that is under way does not hold up the end
    allow_reuse_address = os.name == "posix"  # elsewhere another program could take the port
    request_queue_size = 16

    def __init__(self, page: LedgerPage, host: str = "127.0.0.1", port: int = 0) -> None:
        self._page = page
        self._reading = threading.Lock()  # one page is made at a time
        self._places = threading.BoundedSemaphore(MAX_REQUESTS)
        self._timers = dict[socket.socket, threading.Timer]()
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.is_loopback = ipaddress.ip_address(address[0]).is_loopback
        if ipaddress.ip_address(address[0]).is_unspecified:
            raise ValueError(
                f"host={host!r} is every address of this machine. Name the one that requests name."
            )
        self.address_family = family
        super().__init__((str(address[0]), port), _PageRequest)
        name = f"[{host}]" if ":" in host else host
        end = f":{self.server_port}"
        self.url = f"http://{name}{end}/"
        names = {name.lower(), *(_LOOPBACK if self.is_loopback else ())}
        #: What a Host header may be. Another site's name may lead here, by its DNS.
        self.hosts = {f"{name}{end}" for name in names} | (names if end == ":80" else set())

    def server_bind(self) -> None:
        """Bind the socket, and ask no name server for this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait for a place, and serve a request in a thread."""
        while not self._places.acquire(timeout=0.5):
            pass
        try:
            timer = threading.Timer(READ_SECONDS, _cut, [request])
            timer.daemon = True
            self._timers[request] = timer
            timer.start()
            super().process_request(request, client_address)
        except BaseException:  # no thread can be started
            self._end(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a request, and free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._end(request)

    def _end(self, request: socket.socket) -> None:
        self.was_read(request)
        self._places.release()

    def was_read(self, request: socket.socket) -> None:
        """End the time limit for reading a request."""
        if timer := self._timers.pop(request, None):
            timer.cancel()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print a fault in one line; connections that their clients end are none."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.complain(f"{type(error).__name__}: {error}")

    def complain(self, message: str) -> None:
        """Tell whoever runs the server of a fault."""
        self._page.complain(message)

    def content(self, path: str) -> tuple[str, str] | None:
        """Return the type and the text at a path; None if there is nothing."""
        with self._reading:
            match path:
                case "/":
                    return _HTML, self._page.overview()
                case "/statement":
                    return _HTML, self._page.statement_page()
                case "/statement.json":
                    return _JSON, self._page.statement_json()
        return None


class _PageRequest(BaseHTTPRequestHandler):
    """One request, by GET or HEAD."""

    server: PageServer
    server_version, sys_version = "secretballot", ""
    default_request_version = "HTTP/1.0"  # 0.9 had no headers
    timeout = WRITE_SECONDS

    def do_GET(self) -> None:
        """Answer with a page."""
        self.server.was_read(self.request)
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            # Also of a site whose name leads to this machine, and whose script would read the page.
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")
            return
        try:
            page = self.server.content(self.path.partition("?")[0])
        except LedgerError as error:
            self.server.complain(str(error))
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, _UNREADABLE)
        except Exception as error:
            self.server.complain(f"{type(error).__name__}: {error}")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "the page can't be made")
        else:
            if page is None:
                self.send_error(HTTPStatus.NOT_FOUND, "there is no such page")
            else:
                self._send(HTTPStatus.OK, *page)

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with a line of text. A method other than GET and HEAD is not allowed."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status, message = HTTPStatus.METHOD_NOT_ALLOWED, "pages are read, and nothing else"
            self._drop_body()
        # Messages of the base class quote the request.
        reason = message if status in _EXPLAINED else None
        self._send(
            status, _TEXT, f"{status.value} {status.phrase}{f': {reason}' if reason else ''}\n"
        )

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", _METHODS)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _drop_body(self) -> None:
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and len(length) < 10:
            with suppress(OSError):
                self.rfile.read(min(int(length), _MAX_BODY))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: requests are not worth a line each."""


_EXPLAINED = {
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.SERVICE_UNAVAILABLE,
}


def _cut(request: socket.socket) -> None:
    """End a connection whose request has not come in time."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
