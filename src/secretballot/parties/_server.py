"""Servers that limit who may call, how many calls run at once, and how much memory they take."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from secretballot.parties._credentials import Credentials, caller_name
from secretballot.parties._grpc import SILENCE, Address, load_grpc, server_options, target
from secretballot.parties._message import MessageError
from secretballot.parties._stream import REFUSALS, Stream, Traffic

if TYPE_CHECKING:
    import grpc

log = logging.getLogger("secretballot.parties")

#: Names of gRPC's services, and the answer to a health check.
SERVICE = "secretballot"
HEALTH_SERVICE = "grpc.health.v1.Health"
SERVING = b"\x08\x01"

#: Calls at once of any one caller, and threads beside those of all callers.
_CALLS, _SPARE = 6, 16
#: The longest reason that is sent with a refusal.
_REASON = 1_000
#: Seconds that gRPC may take to end calls that were cancelled.
_END = 10.0

#: Serves one call, and ends it by returning.
Method = Callable[[Stream], None]
P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """Calls in threads that end with the process, even if a server was not closed."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


class Server:
    """Server of methods to callers with known names, each call in a thread.

    The address may have port 0 for a free one. A method is a function of a `Stream`; the caller is
    sent the text of a `ChannelError`, `MessageError` or `PermissionError` of its, and of other
    errors nothing. A certificate that has none of the `names`, or two, is refused. The unfinished
    messages of all calls together take at most `max_bytes`. A caller that shows no sign of life for
    `silence` seconds is lost.
    """

    def __init__(
        self,
        address: Address,
        methods: Mapping[str, Method],
        *,
        credentials: Credentials,
        names: Collection[str],
        max_bytes: int = 2**30,
        silence: float = SILENCE,
    ) -> None:
        grpc = load_grpc()
        self.traffic = Traffic()
        self._names = frozenset(names)
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._n_calls: Counter[str] = Counter()
        self._streams: set[Stream] = set()
        self._lock = threading.Lock()
        self._server = grpc.server(
            DaemonThreads(),
            options=server_options(silence),
            maximum_concurrent_rpcs=_CALLS * len(self._names) + _SPARE,
        )
        handlers = {
            name: grpc.stream_stream_rpc_method_handler(partial(self._serve, method))
            for name, method in methods.items()
        }
        health = grpc.stream_stream_rpc_method_handler(lambda incoming, context: iter([SERVING]))
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, handlers),
                grpc.method_handlers_generic_handler(HEALTH_SERVICE, {"Check": health}),
            )
        )
        try:
            port = self._server.add_secure_port(target(address), credentials.for_server())
        except RuntimeError as error:
            raise OSError(f"address={address!r}: it can't listen there ({error}).") from None
        self.address = (address[0], port)

    def start(self) -> Self:
        """Listen, in threads of its own."""
        self._server.start()
        return self

    def close(self, seconds: float = 0.0) -> None:
        """Refuse new calls, and end all streams after some seconds."""
        stopped = self._server.stop(seconds)
        stopped.wait(seconds)
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.close()
        stopped.wait(_END)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(
        self, method: Method, incoming: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Serve a call as gRPC makes it: from an iterator of pieces to one of pieces."""
        try:
            caller = caller_name(context, self._names)
            with self._call(caller, incoming, context) as stream:
                threading.Thread(target=stream.run, args=[method], daemon=True).start()
                yield from stream.sent_pieces()
            error = stream.error
        except REFUSALS as refusal:
            error = refusal
        if error is not None:
            self._abort(context, error)

    def _abort(self, context: grpc.ServicerContext, error: Exception) -> None:
        status = load_grpc().StatusCode
        if not isinstance(error, REFUSALS):
            context.abort(status.INTERNAL, "a fault of the server's own")
        log.warning("%s: %s", context.peer(), error)
        is_stranger = isinstance(error, PermissionError)
        code = status.PERMISSION_DENIED if is_stranger else status.FAILED_PRECONDITION
        context.abort(code, str(error)[:_REASON])

    @contextmanager
    def _call(
        self, caller: str, incoming: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Stream]:
        """Open the stream of a call, or refuse it."""
        stream = Stream(caller, self.traffic, self._count_memory).attach(incoming, context.cancel)
        with self._lock:
            if self._n_calls[caller] >= _CALLS:
                raise PermissionError(f"{caller!r} has {_CALLS} calls already")
            self._n_calls[caller] += 1
            self._streams.add(stream)
        try:
            if not context.add_callback(stream.close):
                stream.fail("the connection was lost")
            yield stream
        finally:
            with self._lock:
                self._n_calls[caller] -= 1
                self._streams.discard(stream)
            stream.finish()

    def _count_memory(self, size: int) -> None:
        with self._lock:
            if size > 0 and self._n_bytes + size > self._max_bytes:
                raise MessageError(
                    f"more than {self._max_bytes:,} bytes are being sent at once; try again later"
                )
            self._n_bytes += size
