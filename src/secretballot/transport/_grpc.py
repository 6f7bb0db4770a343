"""The gRPC library, imported when it is needed, and its settings."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from secretballot.transport._message import MAX_PIECE

Address = tuple[str, int]

#: Seconds between signs of life on a line, and until a silent one is taken for lost.
_KEEPALIVE, _LOST = 10, 20
#: Seconds for a TLS handshake, and until a connection without a line is closed.
_HANDSHAKE, _IDLE = 10, 60
#: Lines on one connection.
_LINES = 16

_BOTH: dict[str, int | str] = {
    "grpc.max_receive_message_length": MAX_PIECE,
    "grpc.keepalive_time_ms": 1_000 * _KEEPALIVE,
    "grpc.keepalive_timeout_ms": 1_000 * _LOST,
    "grpc.http2.ping_timeout_ms": 1_000 * _LOST,
    "grpc.http2.max_pings_without_data": 0,
    # So much of a line is received before it is read, and no more where the network is fast.
    "grpc.http2.bdp_probe": 0,
    "grpc.http2.lookahead_bytes": MAX_PIECE,
    # A compressed message could expand without limit.
    "grpc.compression_enabled_algorithms_bitset": 1,
    "grpc.per_message_decompression": 0,
}
_SERVER: dict[str, int | str] = {
    **_BOTH,
    "grpc.http2.min_ping_interval_without_data_ms": 500 * _KEEPALIVE,
    "grpc.server_handshake_timeout_ms": 1_000 * _HANDSHAKE,
    "grpc.max_connection_idle_ms": 1_000 * _IDLE,
    "grpc.max_concurrent_streams": _LINES,
    "grpc.so_reuseport": 0,  # two servers at one address would share its callers
}
_CHANNEL: dict[str, int | str] = {
    **_BOTH,
    "grpc.enable_retries": 0,  # nothing that may be charged is sent twice
    "grpc.enable_http_proxy": 0,
    "grpc.use_local_subchannel_pool": 1,  # a failure elsewhere does not delay this connection
}


def load_grpc() -> ModuleType:
    """Return the library; ImportError names the extra that installs it."""
    try:
        import grpc
    except ImportError as error:
        raise ImportError(
            "Connections between processes need gRPC: pip install 'secretballot[remote]'."
        ) from error
    module: ModuleType = grpc
    return module


def server_options() -> list[tuple[str, Any]]:
    """Return settings of a server."""
    return list(_SERVER.items())


def channel_options(server_name: str | None) -> list[tuple[str, Any]]:
    """Return settings of a caller; `server_name` is what the server's certificate must name."""
    named = {} if server_name is None else {"grpc.ssl_target_name_override": server_name}
    return list({**_CHANNEL, **named}.items())


def target(address: Address) -> str:
    """Return an address as gRPC writes it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
