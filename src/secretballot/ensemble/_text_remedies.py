"""Remedies for learners that can't read texts, or have too few of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot.ensemble.tables._table_encoder import EncodedColumn
from secretballot.tables._frames import column_keys, columns_of, container_kind, public_table

_ALL = "for the student and for the teachers. "


def text_remedy(rows: Any, *, public: bool = True) -> str:
    """Return the remedy for a learner that can't read the texts of rows.

    It depends on the cells of public rows alone.
    """
    if container_kind(rows) in ("column", "list"):
        return (
            "For a column of texts begin with a step that reads them, such as "
            "make_pipeline(TfidfVectorizer(), LogisticRegression()), in the student and in the "
            "teachers, and fill missing texts: X.fillna('') and X_public.fillna('') (fill_null of "
            "polars). "
        )
    if public and container_kind(rows) and np.ndim(rows) == 2:
        table = public_table(rows, "X_public")
        names = column_keys(table)
        columns = list(zip(names, columns_of(table), strict=True))
        if all(EncodedColumn.of(*column, None) is None for column in columns):
            return (
                f"Hardly two rows share a text in the columns {names[:5]!r}: learn from their "
                "words, make_pipeline(make_column_transformer((TfidfVectorizer(), "
                f"{names[0]!r})), LogisticRegression()), {_ALL}"
            )
    return (
        "For texts, categories, dates and missing cells take make_table_pipeline(estimator, "
        f"X_public), of secretballot.ensemble, {_ALL}"
    )


def few_texts_remedy(n_rows: int | None) -> str:
    """Return the remedy for a smallest number of texts that is more than a teacher has."""
    number = "" if n_rows is None else f", which has about {n_rows:,}"
    return (
        f"min_df counts the rows of one teacher{number}: give a smaller number, such as min_df=1, "
        "or a share of them, such as min_df=0.05. "
    )
