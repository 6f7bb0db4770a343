"""Settings of one fit: the parameters of its estimator, read once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import Scope
from secretballot.linear.input._read_answer import AnswerReader


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """Parameters of an estimator that say which columns are read, and how."""

    features: str | TransformerMixin
    columns: ArrayLike | None
    categories: Mapping[Hashable, Sequence[Hashable]] | None
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None
    monotonic_cst: ArrayLike | dict[str, object] | None

    @property
    def kind(self) -> str | TransformerMixin:
        """The features with which a fit begins: additive ones, if it may choose."""
        is_open = isinstance(self.features, str) and self.features == "auto"
        return "additive" if is_open else self.features


@dataclass(frozen=True, kw_only=True)
class Settings(ColumnSettings):
    """Parameters of an estimator, and the part of the budget that one fit may spend."""

    estimator: str  # its name, for messages
    answer: AnswerReader  # of what is learned
    n_bins: int | str
    rounds: int | str
    interactions: int | str
    epsilon: float | Mapping[str, float] | None
    check_public_rows: bool
    rows_per_call: int | str
    accountant: PrivacyAccountant
    scope: Scope
    is_copy: bool = False  # whether a tool around the estimator made it
