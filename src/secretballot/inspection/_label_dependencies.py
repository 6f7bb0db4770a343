"""Dependencies between labels, from which a hierarchy can be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import PrivacyLeakWarning, warn
from secretballot.ensemble import PrivateLabels, PublicData
from secretballot.inspection._label_scores import Matrix, dense


def label_dependencies(
    labels: PublicData | PrivateLabels | Matrix, *, condition: str = "absent"
) -> NDArray[np.float64]:
    """Share of the rows without one label that are without another, for all pairs of labels.

    Parameters
    ----------
    labels : PublicData or PrivateLabels
        **Public** labels, wrapped in `PublicData`, or labels that were released: array-like or
        sparse, of shape (n_rows, n_labels), 1 for present, 0 for absent, -1 for not answered. Of
        anything else it warns: if it is private, so is the matrix.
    condition : {"absent", "present"}, default="absent"
        Whether to look at rows without the first label, or with it. What is mostly absent without
        another label can depend on it (`BinaryVoting`'s ``hierarchy``).

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
        In row i and column j the share of rows, among those in which label i is absent (present),
        in which j is too; nan where there is no such row. Rows where one of them was not answered
        are left out.

    Raises
    ------
    ValueError
        If labels are something else than -1, 0 and 1, or `condition` is unknown.

    Warns
    -----
    PrivacyLeakWarning
        If labels are neither wrapped as public nor released.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Appendix B,
    where such matrices are computed from the private training set, outside of any guarantee.

    Examples
    --------
    >>> from secretballot import PublicData
    >>> from secretballot.inspection import label_dependencies
    >>> label_dependencies(PublicData([[0, 0], [0, 0], [0, 1], [1, 1]]))
    array([[1.        , 0.66666667],
           [1.        , 1.        ]])
    """
    if condition not in ("absent", "present"):
        raise ValueError(f"condition={condition!r} is unknown; use 'absent' or 'present'.")
    if isinstance(labels, PrivateLabels):
        table = dense(labels.labels)
    elif isinstance(labels, PublicData):
        table = dense(labels.X)
    else:
        table = dense(labels)
        warn(
            "labels are neither PublicData nor released ones: what depends on what in private "
            "labels is a release of its own that no budget pays for. Wrap public labels in "
            "PublicData, or pass the PrivateLabels of predict_private.",
            PrivacyLeakWarning,
        )
    if table.ndim != 2 or not np.isin(table, (-1, 0, 1)).all():
        raise ValueError(
            f"labels of shape {table.shape} must be a table of 1 (present), 0 (absent) and -1 "
            "(not answered), one column for each label."
        )
    matches = (table == (condition == "present")).astype(float)
    n_both, n_rows = matches.T @ matches, matches.T @ (table >= 0).astype(float)
    shares = np.full(n_both.shape, np.nan)
    np.divide(n_both, n_rows, out=shares, where=n_rows > 0)
    return shares
