"""SQL scripts for the administrator of a server."""

from __future__ import annotations

from importlib.resources import files


def schema_script() -> str:
    """Return the script that makes the tables."""
    return _read("schema.sql")


def roles_script() -> str:
    """Return the script that makes the tables and the roles of owners, spenders and readers."""
    return f"{schema_script()}\n{_read('roles.sql')}"


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
