"""The health check that an operator's probe makes."""

from __future__ import annotations

SERVING = b"\x08\x01"


def check_health(connection):
    """Ask by gRPC's health protocol; RpcError from a server that is gone."""
    check = connection._channel.unary_unary("/grpc.health.v1.Health/Check")
    assert check(b"", timeout=10) == SERVING
