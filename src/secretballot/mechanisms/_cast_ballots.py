"""Which sets of labels the ballots of a row name, and how many name each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_unmasked

#: Bytes that tell the rows of ballots apart.
_ROW = np.dtype(">u8")


def ballot_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the type of one ballot: its labels as packed bits, and how many ballots are equal."""
    return np.dtype([("ballot", np.uint8, (-(-n_labels // 8),)), ("count", np.float64)])


def count_ballots(ballots: ArrayLike, weights: ArrayLike | None = None) -> NDArray[Any]:
    """Count which sets of labels were voted for, as `PowersetVoting` takes them.

    Parameters
    ----------
    ballots : array-like of shape (n_rows, n_ballots, n_labels)
        1 where a ballot calls a label present, 0 where absent.
    weights : array-like of shape (n_ballots,) or (n_rows, n_ballots), default=None
        What each ballot counts; 1 if None. A ballot of weight 0 was not cast.

    Returns
    -------
    ndarray of shape (n_rows, m)
        Structured: ``"ballot"`` the labels as bits (`numpy.packbits`), ``"count"`` how many ballots
        (or their weights) are equal. m is the most distinct ballots of a row; rows with fewer are
        filled up with counts of 0.

    Raises
    ------
    ValueError
        If ballots are not three-dimensional or not 0 and 1, or weights don't fit them.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.mechanisms import count_ballots
    >>> counts = count_ballots([[[1, 0, 1], [0, 0, 0], [1, 0, 1]]])
    >>> counts["count"]
    array([[1., 2.]])
    >>> np.unpackbits(counts["ballot"], axis=2, count=3)
    array([[[0, 0, 0],
            [1, 0, 1]]], dtype=uint8)
    """
    check_unmasked("ballots", ballots)
    given = np.asarray(ballots)
    if given.ndim != 3 or 0 in given.shape[1:]:
        raise ValueError(
            f"ballots has shape {given.shape}; pass (n_rows, n_ballots, n_labels), one 0 or 1 for "
            "each label of each ballot."
        )
    if given.dtype.kind not in "biuf" or not ((given == 0) | (given == 1)).all():
        raise ValueError("ballots must be 0 (absent) and 1 (present); cut probabilities first.")
    n_rows, n_ballots, n_labels = given.shape
    each = _weights(weights, n_rows, n_ballots)
    return count_packed(np.packbits(given.astype(bool), axis=2), each, n_labels)


def count_packed(
    packed: NDArray[np.uint8], each: NDArray[np.float64], n_labels: int
) -> NDArray[Any]:
    """Count ballots that are bits, shape (n_rows, n_ballots, n_bytes), each of its own weight."""
    n_rows = len(packed)
    keys = _with_rows(packed)[each > 0]
    distinct, inverse = np.unique(keys, return_inverse=True)
    table = distinct.view(np.uint8).reshape(len(distinct), keys.itemsize)
    row = table[:, : _ROW.itemsize].copy().view(_ROW).ravel().astype(np.int64)
    sizes = np.bincount(row, minlength=n_rows)
    counts = np.zeros((n_rows, max(1, int(sizes.max(initial=0)))), ballot_dtype(n_labels))
    place = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    counts["ballot"][row, place] = table[:, _ROW.itemsize :]
    counts["count"][row, place] = np.bincount(
        inverse.ravel(), weights=each[each > 0], minlength=len(distinct)
    )
    return counts


def check_cast(
    counts: Any, n_labels: int, max_positives: int | None, most_votes: float
) -> NDArray[Any]:
    """Return counted ballots as `count_ballots` makes them, or raise `ValueError`."""
    check_unmasked("counts", counts)
    wanted, votes = ballot_dtype(n_labels), np.asarray(counts)
    if votes.dtype.names != wanted.names or votes.ndim != 2 or votes.shape[1] == 0:
        raise ValueError(
            f"counts has shape {votes.shape} and dtype {votes.dtype}; pass "
            "count_ballots(ballots), for ballots of shape (n_rows, n_ballots, n_labels)."
        )
    bits, how_many = votes["ballot"], votes["count"]
    if bits.dtype != np.uint8 or bits.shape[2:] != wanted["ballot"].shape:
        raise ValueError(
            f"counts holds ballots of {bits.dtype} and shape {bits.shape[2:]}; n_labels="
            f"{n_labels} takes {wanted['ballot'].shape[0]} bytes of packed bits. Count ballots on "
            "so many labels, or change n_labels."
        )
    if how_many.dtype.kind not in "biuf" or how_many.ndim != 2:
        raise ValueError(f"counts holds numbers of ballots of {how_many.dtype}; pass numbers.")
    if not np.isfinite(how_many).all() or (how_many < 0).any():
        raise ValueError("counts must be finite and non-negative numbers of ballots.")
    if (how_many > most_votes).any():
        raise ValueError(
            f"counts holds {how_many.max():.6g} equal ballots, and floats hold numbers apart only "
            f"up to {most_votes:.6g}: count in parts."
        )
    cast = how_many > 0
    beyond = cast & ((bits[..., -1] & (0xFF >> ((n_labels - 1) % 8 + 1))) != 0)
    if beyond.any():
        raise ValueError(
            f"counts has a ballot in row {_first_row(beyond)} with bits beyond n_labels={n_labels};"
            " pass count_ballots of ballots on so many labels."
        )
    if max_positives is not None:
        positives = np.where(cast, _ONES[bits].sum(axis=-1, dtype=np.int64), 0)
        if (positives > max_positives).any():
            row = _first_row(positives > max_positives)
            raise ValueError(
                f"counts has a ballot with {positives[row].max()} positives in row {row}, and "
                f"max_positives={max_positives}; cut ballots by a public rule before they are "
                "counted."
            )
    keys = np.sort(_with_rows(np.ascontiguousarray(bits))[cast])
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if len(again):
        row = int(keys[again[0] : again[0] + 1].view(np.uint8)[: _ROW.itemsize].view(_ROW)[0])
        raise ValueError(
            f"counts names a ballot of row {row} twice; equal ballots are counted together "
            "(count_ballots does that)."
        )
    return votes.astype(wanted)


#: How many bits of a byte are set.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


def _first_row(where: NDArray[np.bool_]) -> int:
    return int(where.any(axis=1).argmax())


def _with_rows(packed: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the row and the bits of each ballot as one value that can be sorted."""
    n_rows, n_ballots, n_bytes = packed.shape
    table = np.empty((n_rows, n_ballots, _ROW.itemsize + n_bytes), np.uint8)
    table[..., : _ROW.itemsize] = np.arange(n_rows, dtype=_ROW).view(np.uint8).reshape(n_rows, 1, 8)
    table[..., _ROW.itemsize :] = packed
    return table.view(f"V{table.shape[-1]}")[..., 0]


def _weights(weights: ArrayLike | None, n_rows: int, n_ballots: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones((n_rows, n_ballots))
    check_unmasked("weights", weights)
    each = np.asarray(weights)
    if each.dtype.kind not in "biuf" or each.shape not in ((n_ballots,), (n_rows, n_ballots)):
        raise ValueError(
            f"weights has shape {each.shape} and dtype {each.dtype}; pass one number for each of "
            f"the {n_ballots} ballots, or one for each in each row."
        )
    if not np.isfinite(each).all() or (each < 0).any():
        raise ValueError("weights must be finite and non-negative.")
    return np.broadcast_to(each.astype(np.float64), (n_rows, n_ballots))
