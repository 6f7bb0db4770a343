"""A server: who may call, how often at once, and how much it reads."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, Self

from secretballot.transport._credentials import Credentials, name_of_caller
from secretballot.transport._grpc import Address, load_grpc, server_options, target
from secretballot.transport._line import ChannelError, Line
from secretballot.transport._message import Message, MessageError
from secretballot.transport._traffic import Traffic

log = logging.getLogger("secretballot.transport")

#: Names of gRPC's services, and the answer of a server that serves.
SERVICE = "secretballot"
HEALTH_SERVICE = "grpc.health.v1.Health"
HEALTH, SERVING = f"/{HEALTH_SERVICE}/Check", b"\x08\x01"

#: Calls at once of any one caller, and threads beside those of all callers.
_CALLS, _SPARE = 6, 16
#: The longest reason that is sent with a refusal.
_REASON = 1_000

#: Serves a line: yields what is sent, and ends it by returning.
Method = Callable[[Line], Iterator[Message]]


class _Threads(Executor):
    """Calls in threads that end with the process, also where a server was not closed."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*given, **named))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


class Server:
    """Serves methods to callers whom it knows, each call in a thread.

    Parameters
    ----------
    address : tuple of str and int
        Where to listen; port 0 takes a free one.
    methods : dict of str to callable
        Generators that take a `Line` and yield messages. A `ChannelError`, `MessageError` or
        `PermissionError` of theirs is told to the caller; of others it hears nothing.
    credentials : Credentials, default=None
        None: callers are processes of the same machine, and show no certificate.
    names : collection of str, default=()
        With credentials: all who may call. Others are refused, and so is a certificate that holds
        two of these names.
    max_bytes : int, default=2**30
        The most that all calls together may hold of unfinished messages.

    Attributes
    ----------
    address : tuple of str and int
        Where it listens.
    traffic : Traffic
        Of all lines.
    """

    def __init__(
        self,
        address: Address,
        methods: Mapping[str, Method],
        *,
        credentials: Credentials | None = None,
        names: Collection[str] = (),
        max_bytes: int = 2**30,
    ) -> None:
        grpc = load_grpc()
        self.address = address
        self.traffic = Traffic()
        self._names = frozenset(names)
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._calls: Counter[str] = Counter()
        self._lines: set[Line] = set()
        self._lock = threading.Lock()
        certified = credentials is not None
        n_threads = _CALLS * max(1, len(self._names)) + _SPARE
        self._server = grpc.server(
            _Threads(), options=server_options(), maximum_concurrent_rpcs=n_threads
        )
        handlers = {
            name: grpc.stream_stream_rpc_method_handler(self._serving(method, certified))
            for name, method in methods.items()
        }
        health = grpc.stream_stream_rpc_method_handler(lambda incoming, context: iter([SERVING]))
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, handlers),
                grpc.method_handlers_generic_handler(HEALTH_SERVICE, {"Check": health}),
            )
        )
        made = grpc.local_server_credentials() if credentials is None else credentials.for_server()
        try:
            port = self._server.add_secure_port(target(address), made)
        except RuntimeError as error:
            raise OSError(f"address={address!r}: it can't listen there ({error}).") from None
        self.address = (address[0], port)

    def start(self) -> Self:
        """Listen, in threads of its own."""
        self._server.start()
        return self

    def close(self, seconds: float = 0.0) -> None:
        """Let nobody in any more, and end all lines after some seconds."""
        stopped = self._server.stop(seconds)
        stopped.wait(seconds)
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            line.close()
        stopped.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serving(self, method: Method, certified: bool) -> Callable[[Any, Any], Iterator[bytes]]:
        status = load_grpc().StatusCode

        def serve(incoming: Iterator[bytes], context: Any) -> Iterator[bytes]:
            try:
                caller = name_of_caller(context, self._names) if certified else ""
                with self._place(caller), self._line(caller, incoming, context) as line:
                    yield from line.pieces(method(line))
                    if line.reason is not None:
                        raise ChannelError(line.reason)
            except PermissionError as error:
                self._refuse(context, status.PERMISSION_DENIED, error)
            except (ChannelError, MessageError) as error:
                self._refuse(context, status.FAILED_PRECONDITION, error)
            except Exception:
                log.exception("%s: a fault of the server's own", context.peer())
                context.abort(status.INTERNAL, "a fault of the server's own")

        return serve

    def _refuse(self, context: Any, code: Any, error: Exception) -> None:
        log.warning("%s: %s", context.peer(), error)
        context.abort(code, str(error)[:_REASON])

    @contextmanager
    def _place(self, caller: str) -> Iterator[None]:
        with self._lock:
            if self._names and self._calls[caller] >= _CALLS:
                raise PermissionError(f"{caller!r} has {_CALLS} calls already")
            self._calls[caller] += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls[caller] -= 1

    @contextmanager
    def _line(self, caller: str, incoming: Iterator[bytes], context: Any) -> Iterator[Line]:
        line = Line(caller, self.traffic, self._hold).attach(incoming, context.cancel)
        with self._lock:
            self._lines.add(line)
        try:
            if not context.add_callback(line.close):
                line.fail("the connection was lost")
            yield line
        finally:
            with self._lock:
                self._lines.discard(line)
            line.finish()

    def _hold(self, size: int) -> None:
        with self._lock:
            if size > 0 and self._n_bytes + size > self._max_bytes:
                raise MessageError(
                    f"more than {self._max_bytes:,} bytes are being sent at once; try again later"
                )
            self._n_bytes += size
