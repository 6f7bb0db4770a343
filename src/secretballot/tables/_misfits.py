"""Warning of private cells that did not fit the public schema, and of targets beyond bounds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn

#: Key of the targets beyond their declared bounds, among the names of columns.
TARGETS = ("y", "beyond target_bounds")
#: Largest share of misfits of a column without a warning.
_LARGE_SHARE = 0.25


def warn_misfits(
    shares: Mapping[Hashable, float], target_bounds: tuple[float, float] | None = None
) -> None:
    """Warn, after a release, of columns by the share of rows whose cell is a misfit."""
    many = [name for name, share in shares.items() if share > _LARGE_SHARE]
    if TARGETS in many:
        many.remove(TARGETS)
        warn(
            f"more than a quarter of the targets lie beyond target_bounds={target_bounds!r}, and "
            "were moved to the bounds: nothing beyond is predicted, and scores see no errors "
            "there. Name wider bounds, in the unit of y, for the next fit. "
            f"{NOT_FOR_PUBLICATION}"
        )
    if many:
        warn(
            f"more than a quarter of the cells of X do not fit X_public, or what is declared, in "
            f"{len(many)} column(s), such as {many[0]!r}: they are missing, or of another type. "
            f"They were taken as missing. {NOT_FOR_PUBLICATION}"
        )
