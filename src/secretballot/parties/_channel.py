"""Connections and servers by gRPC over mutual TLS."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from secretballot.parties._stream import (
    MAX_PIECE,
    REFUSALS,
    Message,
    MessageError,
    Stream,
    Traffic,
    load_grpc,
)

if TYPE_CHECKING:
    import grpc

Address = tuple[str, int]
Options = list[tuple[str, int | str]]

#: Seconds after which a side that shows no sign of life is lost. Pings begin after a third of them.
SILENCE = 30.0
#: Seconds for a TLS handshake, and until a connection without a stream is closed.
_HANDSHAKE, _IDLE = 10, 60
#: Streams on one connection.
_STREAMS = 16


def server_options(silence: float) -> Options:
    return [
        *_common_options(silence),
        ("grpc.http2.max_ping_strikes", 0),  # callers may ping more often than the server does
        ("grpc.server_handshake_timeout_ms", 1_000 * _HANDSHAKE),
        ("grpc.max_connection_idle_ms", 1_000 * _IDLE),
        ("grpc.max_concurrent_streams", _STREAMS),
        ("grpc.so_reuseport", 0),  # two servers at one address would share its callers
    ]


def channel_options(server_name: str | None, silence: float) -> Options:
    """Build gRPC's settings of a caller; `server_name` must be in the server's certificate."""
    options: Options = [
        *_common_options(silence),
        ("grpc.enable_retries", 0),  # nothing that may be charged is sent twice
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),  # other failures do not delay this connection
    ]
    if server_name is not None:
        options.append(("grpc.ssl_target_name_override", server_name))
    return options


def _common_options(silence: float) -> Options:
    ping, answer = int(1_000 * silence / 3), int(2_000 * silence / 3)
    return [
        ("grpc.max_receive_message_length", MAX_PIECE),
        ("grpc.keepalive_time_ms", ping),
        ("grpc.keepalive_timeout_ms", answer),
        ("grpc.http2.ping_timeout_ms", answer),
        ("grpc.http2.max_pings_without_data", 0),
        # The window of a stream that nobody reads; gRPC would widen it where the network is fast.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", MAX_PIECE),
        # A compressed message could expand without limit.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        ("grpc.per_message_decompression", 0),
    ]


def target(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


File = str | os.PathLike[str]


@dataclass(frozen=True)
class Credentials:
    """Files with which one side proves its name by TLS, and checks the other side's.

    Parameters
    ----------
    authority : path
        Certificates, in PEM, of the authority that signs everybody's certificates.
    certificate : path
        Own certificate, and its chain, in PEM.
    key : path, default=None
        Private key of the certificate, in PEM and not encrypted. None: in the certificate's file.

    Examples
    --------
    ::

        Credentials("authority.pem", "north.pem", "north.key")
    """

    authority: File
    certificate: File
    key: File | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("authority", "certificate", "key"):
            path = getattr(self, name)
            if path is not None and not Path(path).is_file():
                raise FileNotFoundError(f"{name}={os.fspath(path)!r} is no file.")
        try:
            context = ssl.create_default_context(cafile=os.fspath(self.authority))
        except ssl.SSLError as error:
            raise ValueError(
                f"authority={os.fspath(self.authority)!r} holds no certificates in PEM ({error})."
            ) from None
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(
                f"certificate={os.fspath(self.certificate)!r}: it must hold a certificate in PEM, "
                "and key, or the same file, its private key in PEM, without a password "
                f"({error})."
            ) from None

    def for_server(self) -> grpc.ServerCredentials:
        """Build gRPC's credentials of a server, which asks callers for a certificate."""
        root, chain, key = self._contents()
        return load_grpc().ssl_server_credentials(
            [(key, chain)], root_certificates=root, require_client_auth=True
        )

    def for_caller(self) -> grpc.ChannelCredentials:
        """Build gRPC's credentials of a caller."""
        root, chain, key = self._contents()
        return load_grpc().ssl_channel_credentials(root, key, chain)

    def _contents(self) -> tuple[bytes, bytes, bytes]:
        key = self.certificate if self.key is None else self.key
        root, chain, secret = (
            Path(path).read_bytes() for path in (self.authority, self.certificate, key)
        )
        return root, chain, secret


def caller_name(context: grpc.ServicerContext, names: Collection[str]) -> str:
    """Return the allowed name in a caller's certificate; PermissionError for none, or several."""
    certified = set[str]()
    for certificate in context.auth_context().get("x509_pem_cert", ()):
        try:
            certified |= certificate_names(certificate)
        except Exception:  # whatever a signed certificate holds
            raise PermissionError("the names in a certificate can't be read") from None
    callers = sorted(certified & set(names))
    if len(callers) != 1:
        fault = f"more than one party, {callers}" if callers else "no party that is expected"
        raise PermissionError(f"the certificate of {sorted(certified)} names {fault}")
    return callers[0]


def certificate_names(pem: bytes) -> set[str]:
    """Return all common names of the subject, and all DNS names and addresses in subjectAltName.

    gRPC itself reports the first common name alone, up to a NUL.
    """
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem)
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = {str(attribute.value) for attribute in common}
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return names
    addresses = map(str, extension.value.get_values_for_type(x509.IPAddress))
    return names.union(extension.value.get_values_for_type(x509.DNSName), addresses)


class Connection:
    """Connection to a `Server`, made with the first call; lost after `silence` seconds.

    The server's certificate must have the name `server_name`, by default the host of the address.
    """

    def __init__(
        self,
        address: Address,
        *,
        credentials: Credentials,
        server_name: str | None = None,
        silence: float = SILENCE,
    ) -> None:
        self._channel = load_grpc().secure_channel(
            target(address), credentials.for_caller(), channel_options(server_name, silence)
        )

    def open(self, method: str, *, timeout: float | None = None) -> Stream:
        """Open a stream to a method. gRPC ends it on both sides after `timeout` seconds."""
        stream = Stream("", Traffic())
        call = self._channel.stream_stream(f"/{SERVICE}/{method}")(
            stream.sent_pieces(), timeout=timeout
        )
        return stream.attach(call, call.cancel)

    def ask(self, method: str, message: Message, *, timeout: float, max_bytes: int = 0) -> Message:
        """Send one message to a method, and return its answer with a body of limited length."""
        with closing(self.open(method, timeout=timeout)) as stream:
            stream.send(message)
            stream.end()
            return stream.receive(None, max_bytes)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
