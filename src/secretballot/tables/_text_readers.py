"""Steps that read one text a row, such as `TfidfVectorizer`, and tables that they can't read."""

from __future__ import annotations

from typing import Any

from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import column_names, columns_of, container_kind


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
