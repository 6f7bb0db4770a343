"""Checks of tables, targets and bounds as the user passes them, before anything is spent.

Order of rows, copies of rows, kinds of tables, a target among the columns, columns that a file has
left (row numbers, a wrong separator), bounds read from rows, and steps that can't read a table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot._base._sklearn_compat import _num_samples
from secretballot.tables._cells import missing_cells, read_numbers, read_texts
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._columns import Column
from secretballot.tables._frames import (
    as_table,
    column_keys,
    column_names,
    columns_of,
    container_kind,
    public_table,
    row_shape,
)

_COPIES_REMEDY = (
    "; class_weight='balanced' of PrivateLogisticRegression weighs rare classes without any. Or "
    "protect people: PrivacyAccountant(..., unit='owner') and "
)
#: Copies are warned of if at least this share of rows has a twin, and this share is different.
_FEW_TWINS, _FEWEST_ROWS = 0.1, 0.05
#: Rows that occur equally often are copies (by chance the variance of their counts would be about
#: their mean), unless there are fewer different rows than this, as in a balanced experiment, or
#: more than this share occurs once.
_EVEN_ROWS, _MOST_SINGLE = 500, 0.1
#: A column is a key of the rows with a twin if this share of them has different numbers, and at
#: least this many.
_NEARLY_UNIQUE, _FEWEST_VALUES = 0.9, 10
#: Most decimals that are tried.
_DECIMALS = 15
#: Numbers are fine if their range has more than this many values, at their decimals, per row.
_FINE = 100
_KINDS_REMEDY = (
    "Give both as they are before any step, with the steps inside of the estimator, such as "
    "make_pipeline(TfidfVectorizer(), LogisticRegression()); or both after it."
)
#: Separators of columns that CSV readers take for a part of a name.
_SEPARATORS = {"\t": "tabs", ";": "semicolons"}
#: Names of row numbers that nobody gave: of pandas, for columns without a name and for an index.
_UNNAMED = re.compile(r"\s*|None|nan|Unnamed: \d+(_level_\d+)?|index|level_\d+")
#: Fewest public rows of a label whose values in a column are compared with other labels'.
_FEWEST_COPIED = 10
#: Least share of them with the label of their value; noise changes a few labels.
_COPIED_SHARE = 0.99
#: Fewest public rows whose rise or fall is no chance: 2 of 8! orders rise or fall.
_FEWEST_IN_ORDER = 8
#: Columns that a warning names.
_MOST_IN_ORDER = 5
#: Most bounds that a warning names.
_MOST_NAMED = 3


def check_row_order(name: str, values: object, X: object, name_of_X: str = "X") -> None:
    """Raise ValueError if two objects of pandas have different indexes: rows go by position.

    An index 0, 1, 2, ... may have been made anew: it is warned of, unless the other has the same
    labels in another order.
    """
    index: Any = getattr(X, "index", None)
    labels: Any = getattr(values, "index", None)
    if not hasattr(index, "symmetric_difference") or not hasattr(labels, "symmetric_difference"):
        return
    if len(index) != len(labels) or index.equals(labels):
        return
    is_alike = index.nlevels == labels.nlevels  # labels of several levels equal no others
    if is_alike and index.is_unique and labels.is_unique and index.isin(labels).all():
        raise ValueError(
            f"{name} has the index of {name_of_X} in another order, and rows are matched by "
            f"position: each value would be another row's. Pass {name}.loc[{name_of_X}.index], or "
            f"{name}.to_numpy() if the order is right as it is. {NOT_FOR_PUBLICATION}"
        )
    if not is_plain(index) and not is_plain(labels):
        by_label = f"{name}.loc[{name_of_X}.index], or " if is_alike else ""
        raise ValueError(
            f"{name} has other index labels than {name_of_X}, and rows are matched by position: "
            f"are they of the same rows? Pass {by_label}{name}.to_numpy() if the order is right as "
            f"it is. {NOT_FOR_PUBLICATION}"
        )
    warn(
        f"{name} has other index labels than {name_of_X}, and rows are matched by position: if "
        "rows were left out of one of them alone, each value is another row's. Leave them out of "
        f"both, and then call reset_index(drop=True) of both, or pass {name}.to_numpy() if the "
        f"order is right as it is. {NOT_FOR_PUBLICATION}"
    )


def order_labels(y: Any, names: list[Any] | None) -> Any:
    """Return a table of labels with its columns in the order of the fit; refuse others."""
    columns = list(getattr(y, "columns", ()))
    if not names or columns in ([], names):
        return y
    if len(columns) != len(names) or set(columns) != set(names):
        raise ValueError(
            f"y has the columns {columns[:5]!r}, and the model was fitted to {names[:5]!r}: give "
            "the labels of the fit, or y.to_numpy() if they are the same in this order."
        )
    return y[names]


def is_plain(index: Any) -> bool:
    """Return True for the index 0, 1, 2, ..., which may have been made anew."""
    return index.nlevels == 1 and bool(np.array_equal(index, np.arange(len(index))))


def check_target_length(y: Any, n_rows: int) -> None:
    n_targets = _num_samples(y)
    if n_targets != n_rows:
        flat = " Pass y.ravel()." if tuple(getattr(y, "shape", ())) == (1, n_rows) else ""
        raise ValueError(
            f"X has {n_rows} rows, and y has {n_targets} entries (inconsistent numbers of "
            f"samples): give one for each row of X, from the same table.{flat}"
        )


def warn_repeated_rows(X: Any, name: str = "X", unit: str = "row", *, cells: bool = True) -> None:
    """Warn if rows of a table repeat others: by their index, or (`cells`) not by chance."""
    n_labelled = _labelled_copies(X)
    n_copies = n_labelled or (_copies_without_label(X) if cells else 0)
    if n_copies:
        labels = ", with their index labels" if n_labelled else ""
        ids = f"owners={name}.index" if n_labelled else "the id of each row's person as owners="
        remedy = _COPIES_REMEDY + ids if unit == "row" else ""
        warn(
            f"{name} holds {n_copies:,} copies of other rows{labels}. "
            f"unit={unit!r} protects one {unit}: whoever has several copies is protected for each "
            f"of them, not for all together. Leave copies out{remedy}. {NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )


def _labelled_copies(X: Any) -> int:
    """Count rows of a data frame or series that repeat others, with their index label.

    Labels alone repeat where tables of different people were put together, and single cells may
    then be equal by chance.
    """
    index: Any = getattr(X, "index", None)
    if getattr(index, "is_unique", True):
        return 0
    try:
        n_copies = int(X.reset_index().duplicated().sum())
    except Exception:  # cells without a hash, or a column of the index's name
        return 0
    is_coarse = getattr(X, "shape", (0,))[1:] in ((), (1,))
    return 0 if is_coarse and n_copies < index.duplicated().sum() else n_copies


def _copies_without_label(X: Any) -> int:
    """Count rows that repeat others, if not by chance; tables of few categories have honest twins.

    Chance makes no equal numbers of copies, and no equal rows with numbers that are fine enough.
    """
    hashes = _row_hashes(X)
    if hashes is None or not len(hashes):
        return 0
    _, rows, counts = np.unique(hashes, return_index=True, return_counts=True)
    n, has_twin = len(hashes), counts > 1
    share = counts[has_twin].sum() / n
    if share < _FEW_TWINS or len(rows) < _FEWEST_ROWS * n:
        return 0
    if (
        len(rows) >= _EVEN_ROWS
        and np.mean(~has_twin) < _MOST_SINGLE
        and counts.var() < counts.mean() / 2
    ):
        return n - len(rows)
    for x in _numbers(X):
        twins = x[rows[has_twin]]
        is_key = len(np.unique(twins)) >= max(_NEARLY_UNIQUE * len(twins), _FEWEST_VALUES)
        if is_key and _is_fine(twins, n):
            return n - len(rows)
    return 0


def _row_hashes(X: Any) -> NDArray[np.uint64] | None:
    """Hash rows, to compare them within one table only; None if it has no fast hashes."""
    if isinstance(X, list | tuple):
        return None
    kind = container_kind(X)
    try:
        if kind == "pandas":
            hashes = sys.modules["pandas"].util.hash_pandas_object(X, index=False)
            return np.asarray(hashes, dtype=np.uint64)
        if kind == "polars":
            if any(str(dtype) == "Object" for dtype in X.dtypes):
                return None  # a cell without a hash is no Exception there
            return np.asarray(X.hash_rows().to_numpy(), dtype=np.uint64)
    except Exception:  # cells without a hash
        return None
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    hashes = np.zeros(len(X), dtype=np.uint64)
    for column in X.T:
        hashes = (hashes ^ column.astype(np.float64).view(np.uint64)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _numbers(X: Any) -> Iterator[NDArray[np.float64]]:
    for column in columns_of(X):
        dtype = getattr(column, "dtype", None)
        is_polars_number = getattr(dtype, "is_numeric", bool)
        if getattr(dtype, "kind", "") in ("i", "u", "f") or is_polars_number():
            yield read_numbers(column)


def _is_fine(x: NDArray[np.float64], n_rows: int) -> bool:
    """Return True for fractions with enough decimals that only copied rows have equal ones."""
    x = x[np.isfinite(x)]
    if not len(x) or (x == np.floor(x)).all():
        return False
    decimals = next((k for k in range(_DECIMALS) if (np.round(x, k) == x).all()), _DECIMALS)
    return bool(np.ptp(x) * 10.0**decimals > _FINE * n_rows)


def check_table_kinds(X: Any, X_public: Any) -> None:
    """Refuse a table of numbers beside a table of texts.

    A private column beside public numbers is refused if not one of its cells can be read as a
    number. Other misfits are left to the noisy check of public rows.
    """
    kinds = container_kind(X, "X"), container_kind(X_public)
    if "" in kinds:
        return
    single = ("column", "list")
    if (kinds[0] in single) != (kinds[1] in single) or (issparse(X) and kinds[1] != "numbers"):
        # One cell that is no text makes a list of texts another kind.
        mark = f" {NOT_FOR_PUBLICATION}" if isinstance(X, list | tuple) else ""
        of_column = _column_remedy(X, "X") or _column_remedy(X_public, "X_public")
        raise ValueError(
            f"X and X_public are tables of two kinds: X is {_described(X)}, and X_public is "
            f"{_described(X_public)}. Nothing was released or spent. "
            f"{of_column or _KINDS_REMEDY}{mark}"
        )
    if kinds[1] != "numbers" or kinds[0] == "numbers":
        return
    table = as_table(X, None, "X")
    if len(table.shape) != 2 or row_shape(table) != row_shape(X_public):
        return  # refused elsewhere
    for name, values in zip(column_keys(table), columns_of(table), strict=True):
        if np.isnan(read_numbers(values)).all() and not missing_cells(values).all():
            raise ValueError(
                f"X and X_public are tables of two kinds: X_public is {_described(X_public)}, and "
                f"no cell of the column {name!r} of X can be read as a number. Nothing was "
                f"released or spent. {_KINDS_REMEDY} {NOT_FOR_PUBLICATION}"
            )


def _column_remedy(table: Any, name: str) -> str:
    """Return the remedy where a table stands beside a single column; "" if this is none."""
    kind = container_kind(table, name)
    if kind not in ("pandas", "polars", "objects"):
        return ""
    names = column_names(table)
    column = f"{name}[:, 0]" if names is None else f"{name}[{names[0]!r}]"
    if isinstance(table, list | tuple):
        column = f"[row[0] for row in {name}]"
    return (
        f"Pass one column of both, such as {column}, with the steps that read its texts inside of "
        "the estimator, such as make_pipeline(TfidfVectorizer(), LogisticRegression())."
    )


def _described(X: Any) -> str:
    if issparse(X):
        return "a sparse matrix of numbers"
    kind = container_kind(X)
    if kind in ("column", "list"):
        return "a single column, such as one of texts"
    return "an array of numbers" if kind == "numbers" else "a table of columns"


def check_target_left_out(X: Any, y: Any) -> None:
    """Raise ValueError if a data frame has a column of the target's name, whatever its cells are.

    The target may be another code of it, or what follows from it: cells are private.
    """
    names = set(getattr(X, "columns", ()))
    targets = list(getattr(y, "columns", (getattr(y, "name", None),)))
    name = next((name for name in targets if isinstance(name, str) and name in names), None)
    if name is not None:
        raise ValueError(
            f"X has a column of the name of the target y, {name!r}: the model would repeat it, and "
            f"rows without it could not be predicted. Pass X.drop(columns={name!r}), and the same "
            "of X_public; or, if they are different things, name the target otherwise, "
            "y.rename('target')."
        )


def warn_copied_target(
    names: Iterable[Hashable], columns: Iterable[ArrayLike], labels: NDArray[Any]
) -> None:
    """Warn of a public column with one value for each label: it may be the target in other codes.

    `labels` of the public rows are released, or predicted from what was released.
    """
    codes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    pairs = list(zip(names, columns, strict=True))
    if len(counts) < 2 or counts.min() < _FEWEST_COPIED or len(pairs) < 2:
        return
    for name, values in pairs:
        _, texts = np.unique(read_texts(values).astype(str), return_inverse=True)
        if texts.max() + 1 != len(counts):
            continue
        shared = np.zeros((len(counts), len(counts)), dtype=int)
        np.add.at(shared, (texts, codes), 1)
        is_matching = len(set(shared.argmax(axis=1))) == len(counts)
        if is_matching and shared.max(axis=1).sum() >= _COPIED_SHARE * len(codes):
            warn(
                f"the column {name!r} of X_public has one value for each label, so the model "
                "repeats it. Is it the target y in other codes, or known only after it? Leave it "
                f"out then, X.drop(columns={name!r}) and the same of X_public. This follows from "
                "what was released, and the budget is spent."
            )


def check_header(X: Any, name: str) -> None:
    """Raise ValueError if the names of columns hold the separators of the file."""
    names = [column for column in getattr(X, "columns", ()) if isinstance(column, str)]
    for separator, plural in _SEPARATORS.items():
        if names and all(separator in column for column in names):
            raise ValueError(
                f"{name} has the column {names[0]!r}, whose name holds {plural}: they separate the "
                f"columns of its file, and were read as texts. Read the file by them, "
                f"pandas.read_csv(..., sep={separator!r})."
            )


def check_file_columns(X_public: Any) -> None:
    """Refuse public rows with a wrong separator, or an unnamed column that numbers the rows.

    Named columns that look like row numbers are warned of.
    """
    check_header(X_public, "X_public")
    if container_kind(X_public) in ("", "column", "list") or issparse(X_public):
        return
    table = public_table(X_public, "X_public")
    if len(table.shape) > 2 or len(table) < _FEWEST_IN_ORDER:
        return
    names = column_keys(table)
    numbered = []
    for column, values in zip(names, columns_of(table), strict=True):
        reader = Column.of(column, values)
        if reader.kind not in ("number", "time", "duration"):
            continue
        steps = np.diff(reader.read(values))  # none is above or below 0 beside a missing cell
        if not ((steps > 0).all() or (steps < 0).all()):
            continue
        numbered.append(column)
        if _UNNAMED.fullmatch(str(column)):
            raise ValueError(
                f"the column {column!r} of X_public seems to number the rows of a file: its values "
                "all differ, and rise or fall from row to row. A model would learn the order of "
                f"the file. Leave it out, X.drop(columns={column!r}) and the same of X_public "
                "(pandas.read_csv(..., index_col=0) does), or name it if it is meant."
            )
    if numbered and len(names) > 1:
        shown = ", ".join(map(repr, numbered[:_MOST_IN_ORDER]))
        ellipsis = ", ..." if len(numbered) > _MOST_IN_ORDER else ""
        warn(
            f"X_public: the values of {shown}{ellipsis} all differ, and rise or fall from row to "
            "row, as row numbers do: a model would learn the order of the file. Leave such columns "
            "out, or shuffle the public rows if they are sorted by a column that is meant."
        )


def warn_private_extremes(
    parameter: str,
    bounds: Mapping[Hashable, tuple[float, float]],
    columns: Mapping[Hashable, ArrayLike],
) -> None:
    """Warn if all bounds are extremes of private cells, one of them of a single person."""
    if bounds:
        warn_extreme_counts(parameter, bounds, count_at_bounds(bounds, columns))


def count_at_bounds(
    bounds: Mapping[Hashable, tuple[float, float]], columns: Mapping[Hashable, ArrayLike]
) -> NDArray[np.intp]:
    """Count private cells at and beyond each bound: shape (n_columns, 2 ends, 2)."""
    counts = np.zeros((len(bounds), 2, 2), dtype=np.intp)
    for row, (name, (low, high)) in zip(counts, bounds.items(), strict=True):
        x = read_numbers(columns[name])
        row[:] = [[(x == low).sum(), (x < low).sum()], [(x == high).sum(), (x > high).sum()]]
    return counts


def warn_extreme_counts(
    parameter: str, bounds: Mapping[Hashable, tuple[float, float]], counts: NDArray[np.intp]
) -> None:
    """Warn like `warn_private_extremes`, from the counts of `count_at_bounds`."""
    # A bound is no extreme if somebody is beyond it.
    at_extremes = np.where(counts[..., 1] == 0, counts[..., 0], 0)
    if at_extremes.min(initial=2) != 1:
        return
    shown = ", ".join(f"{bounds[name]!r}" for name in list(bounds)[:_MOST_NAMED])
    warn(
        f"{parameter}: {shown} are the least and largest private value, some of which one person "
        "has. Bounds are public, so these values are too, outside the guarantee. Declare bounds "
        "that are known without these rows, such as (0, 120) of ages. "
        f"{NOT_FOR_PUBLICATION}",
        PrivacyLeakWarning,
    )


def check_text_reader(
    estimator: Any, X: Any, name: str, parameter: str, most_words: int | None = None
) -> None:
    """Refuse a table of rows for an estimator that begins with a reader of texts.

    The cells of X_public alone are looked at. With a largest number of words, as linear models
    have, a column of texts is refused too.
    """
    step, kind = _text_reader(estimator), container_kind(X, name)
    is_single = kind in ("column", "list")
    if step is None or kind == "" or (is_single and most_words is None):
        return
    columns = column_names(X) or ["text" if is_single else 0]
    if name == "X_public" and len(columns) > 1:
        schemas = [ColumnSchema.of(*pair) for pair in zip(columns, columns_of(X), strict=True)]
        columns = [schema.name for schema in schemas if schema.kind == "text"] or columns
    column, reader, limit = columns[0], type(step).__name__, ""
    if most_words is not None:
        limit = f"{'n' if hasattr(step, 'n_features') else 'max'}_features={most_words}"
    frames = "Pass pandas.DataFrame({'text': X}), and the same of X_public. " if is_single else ""
    student = ", also in the student" if parameter == "estimator" else ""
    raise ValueError(
        f"{parameter} begins with {reader}, which reads one text a row, and rows of {name} are "
        f"{'to be ' if is_single else ''}those of a table. {frames}Let it read a column: "
        f"make_column_transformer(({reader}({limit}), {column!r})) of sklearn.compose, in place of "
        f"{reader}{student}. Nothing was released or spent."
    )


def _text_reader(estimator: Any) -> Any:
    """Return the first step that makes words of texts; None if there is none."""
    # A function of the user in place of an analyzer may read rows of any kind.
    if hasattr(estimator, "build_analyzer"):
        return None if callable(getattr(estimator, "analyzer", None)) else estimator
    steps = [step for _, step in getattr(estimator, "steps", ()) if hasattr(step, "fit")]
    parts = [part[1] for part in getattr(estimator, "transformer_list", ())]
    readers = map(_text_reader, [*steps[:1], *parts])
    return next((reader for reader in readers if reader is not None), None)
