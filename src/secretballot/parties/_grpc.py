"""Import of gRPC when it is needed, and its settings."""

from __future__ import annotations

from types import ModuleType

from secretballot.parties._message import MAX_PIECE

Address = tuple[str, int]
Options = list[tuple[str, int | str]]

#: Seconds after which a side that shows no sign of life is lost. Pings begin after a third of them.
SILENCE = 30.0
#: Seconds for a TLS handshake, and until a connection without a stream is closed.
_HANDSHAKE, _IDLE = 10, 60
#: Streams on one connection.
_STREAMS = 16


def load_grpc() -> ModuleType:
    """Import gRPC; the ImportError names the extra that installs it."""
    try:
        import cryptography  # noqa: F401 - reads callers' certificates
        import grpc
    except ImportError as error:
        raise ImportError(
            "Connections between processes need grpcio and cryptography: "
            "install the extra `remote` of this package."
        ) from error
    module: ModuleType = grpc
    return module


def server_options(silence: float) -> Options:
    """Build gRPC's settings of a server."""
    return [
        *_common_options(silence),
        ("grpc.http2.max_ping_strikes", 0),  # callers may ping more often than the server does
        ("grpc.server_handshake_timeout_ms", 1_000 * _HANDSHAKE),
        ("grpc.max_connection_idle_ms", 1_000 * _IDLE),
        ("grpc.max_concurrent_streams", _STREAMS),
        ("grpc.so_reuseport", 0),  # two servers at one address would share its callers
    ]


def channel_options(server_name: str | None, silence: float) -> Options:
    """Build gRPC's settings of a caller; the server's certificate must have `server_name`."""
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
    """Format an address for gRPC."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
