"""Warning of private cells that did not fit the public schema."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn

#: Largest share of misfits of a column without a warning.
_LARGE_SHARE = 0.25


def warn_misfits(shares: Mapping[Hashable, float]) -> None:
    """Warn, after a release, of columns by the share of rows whose cell is a misfit."""
    many = [name for name, share in shares.items() if share > _LARGE_SHARE]
    if many:
        warn(
            f"more than a quarter of the cells of X do not fit X_public, or what is declared, in "
            f"{len(many)} column(s), such as {many[0]!r}: they are missing, or of another type. "
            f"They were taken as missing. {NOT_FOR_PUBLICATION}"
        )
