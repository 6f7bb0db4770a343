"""The Adult data set, as numbers."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

if TYPE_CHECKING:
    import pandas as pd

_FILE = "adult.csv.gz"
_CLASSES = ("<=50K", ">50K")
_SUBSETS = ("all", "train", "test")
_COUNTRIES = (
    "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France "
    "Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland "
    "Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland "
    "Portugal Puerto-Rico Scotland South Taiwan Thailand Trinadad&Tobago United-States Vietnam "
    "Yugoslavia ?"
)
# Written down rather than learned from the rows: an encoder fitted on private data looks at it.
# A missing value is a category of its own, the last one; schooling is in the order of its length.
_CATEGORIES = {
    name: tuple(values.split())
    for name, values in {
        "workclass": "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc "
        "State-gov Without-pay ?",
        "education": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college "
        "Assoc-voc Assoc-acdm Bachelors Masters Prof-school Doctorate",
        "marital_status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent "
        "Never-married Separated Widowed",
        "occupation": "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving ?",
        "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
        "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
        "sex": "Female Male",
        "native_country": _COUNTRIES,
    }.items()
}
_DESCRIPTION = """Adult ("Census Income"): 48,842 people of the 1994 US census; does a person earn
more than 50,000 dollars a year? 6 numbers and 8 categories a person; 3,620 people have a value
missing. Barry Becker and Ronny Kohavi, 1996, UCI Machine Learning Repository,
DOI 10.24432/C5XW20, CC BY 4.0."""


def _read() -> dict[str, tuple[str, ...]]:
    source = files("secretballot.datasets") / "data" / _FILE
    with (
        source.open("rb") as compressed,
        gzip.open(compressed, "rt", encoding="ascii", newline="") as lines,
    ):
        table = csv.reader(lines)
        header = next(table)
        return dict(zip(header, zip(*table, strict=True), strict=True))


@dataclass(frozen=True)
class _Rows:
    """All rows of the source as whole numbers: codes of categories, and other numbers."""

    names: Sequence[str]
    codes: NDArray[np.int32]
    target: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    is_complete: NDArray[np.bool_]


@cache
def _coded_rows() -> _Rows:
    """Read the file, which takes most of a second, once in a process."""
    table = _read()
    target = np.array([_CLASSES.index(income) for income in table.pop("income")])
    is_test = np.array([part == "test" for part in table.pop("split")])
    codes = np.column_stack([_as_codes(name, values) for name, values in table.items()])
    is_complete = np.ones(len(target), dtype=bool)
    for values in table.values():
        is_complete &= np.array([value != "?" for value in values])
    return _Rows(tuple(table), codes, target, is_test, is_complete)


def _as_codes(name: str, values: Sequence[str]) -> NDArray[np.int32]:
    if name not in _CATEGORIES:
        return np.array(values, dtype=np.int32)
    code = {category: position for position, category in enumerate(_CATEGORIES[name])}
    return np.array([code[value] for value in values], dtype=np.int32)


def load_adult(
    *,
    subset: str = "all",
    complete_only: bool = False,
    one_hot: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the Adult data set [1]_: does a person earn more than 50,000 dollars a year?

    It comes with the package. All values are numbers: categories are codes, or indicators with
    ``one_hot=True``. The lists of categories are fixed, so encoding looks at no row and costs no
    privacy. A missing value (``"?"`` in the source) is a category of its own, the last one.

    =================  ======
    Classes                 2
    Samples            48,842
    ``<=50K``          37,155
    Complete samples   45,222
    Features               14
    =================  ======

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        The source's 32,561 training rows, its 16,281 test rows, or both in this order.
    complete_only : bool, default=False
        Leave out the rows with a missing value.
    one_hot : bool, default=False
        Give each category a column of zeros and ones instead of a code.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.
    as_frame : bool, default=False
        Return a data frame and a series, with categories by name (pandas is needed). ``one_hot``
        must be False: scikit-learn's and pandas' own tools take it from there.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        ``data`` (float array of shape (n_samples, n_features), or data frame), ``target`` (0 or
        1), ``feature_names``, ``target_names``, ``categorical_features`` (positions in ``data``;
        empty when ``one_hot``), ``categories`` (feature name to category names, in the order of
        the codes), ``frame`` and ``DESCR``.
    (data, target) : tuple if ``return_X_y`` is True

    References
    ----------
    .. [1] B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository, 1996,
       DOI 10.24432/C5XW20, CC BY 4.0.

    Examples
    --------
    >>> from secretballot.datasets import load_adult
    >>> adult = load_adult(complete_only=True)
    >>> adult.data.shape
    (45222, 14)
    >>> adult.target_names[adult.target[7]]
    '>50K'
    """
    if subset not in _SUBSETS:
        raise ValueError(f"subset={subset!r} is unknown; use one of {', '.join(_SUBSETS)}.")
    if as_frame and one_hot:
        raise ValueError(
            "as_frame=True gives categories by name and can't be joined with one_hot=True; "
            "use one of the two."
        )
    rows = _coded_rows()
    names, is_test = rows.names, rows.is_test
    is_kept = {"all": np.ones_like(is_test), "train": ~is_test, "test": is_test}[subset]
    if complete_only:
        is_kept = is_kept & rows.is_complete
    # Float64 holds every code and every number of the file exactly. Both are copies.
    codes, target = rows.codes[is_kept].astype(np.float64), rows.target[is_kept]

    data, feature_names, frame = codes, names, None
    categorical = tuple(position for position, name in enumerate(names) if name in _CATEGORIES)
    if as_frame:
        data, target, frame = _to_frame(codes, target, names)
    elif one_hot:
        data, feature_names = _to_indicators(codes, names)
        categorical = ()
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(feature_names),
        target_names=_CLASSES,
        categorical_features=categorical,
        categories=dict(_CATEGORIES),
        DESCR=_DESCRIPTION,
    )


def _to_indicators(
    codes: NDArray[np.float64], names: Sequence[str]
) -> tuple[NDArray[np.float64], list[str]]:
    blocks, columns = [], []
    for position, name in enumerate(names):
        if name in _CATEGORIES:
            categories = _CATEGORIES[name]
            blocks.append(np.eye(len(categories))[codes[:, position].astype(int)])
            columns += [f"{name}={category}" for category in categories]
        else:
            blocks.append(codes[:, [position]])
            columns.append(name)
    return np.hstack(blocks), columns


def _to_frame(
    codes: NDArray[np.float64], target: NDArray[np.int64], names: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    import pandas as pd

    features = {
        name: pd.Categorical.from_codes(codes[:, position].astype(int), _CATEGORIES[name])
        if name in _CATEGORIES
        else codes[:, position].astype(int)
        for position, name in enumerate(names)
    }
    data, income = pd.DataFrame(features), pd.Series(target, name="income")
    return data, income, data.assign(income=income)
