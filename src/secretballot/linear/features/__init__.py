"""Features of rows from public rows or declarations, of bounded length."""

from secretballot.linear.features._additive_bins import (
    FEW_PUBLIC_ROWS,
    FEWEST_PUBLIC_ROWS,
    SPIKE_SHARE,
    AdditiveBins,
    declared_bins,
    public_bins,
    spread_ends,
)
from secretballot.linear.features._column_bins import CategoryBins, NumberBins
from secretballot.linear.features._column_choice import ColumnChoice
from secretballot.linear.features._column_pair import ColumnPair
from secretballot.linear.features._column_reading import (
    ColumnReading,
    ColumnReadings,
    declared_readings,
    public_readings,
    warn_columns,
)
from secretballot.linear.features._columns import (
    Categories,
    PublicColumn,
    column_keys,
    public_columns,
)
from secretballot.linear.features._days import days_by_key, in_days
from secretballot.linear.features._dense_features import ScaledColumns, TransformedRows
from secretballot.linear.features._design import (
    Design,
    FeatureMap,
    Features,
    Floats,
    PriorGroup,
    stores_pairs,
)
from secretballot.linear.features._kernel_features import KernelFeatures
from secretballot.linear.features._nullable_features import NullableFeatures, nullable_bins
from secretballot.linear.features._number_knots import NumberKnots, knots_between, public_ends
from secretballot.linear.features._paired_bins import PairedBins
from secretballot.linear.features._shown_list import ShownList
from secretballot.linear.features._unknown_cells import UnknownCells

__all__ = [
    "FEWEST_PUBLIC_ROWS",
    "FEW_PUBLIC_ROWS",
    "SPIKE_SHARE",
    "AdditiveBins",
    "Categories",
    "ColumnChoice",
    "ColumnPair",
    "ColumnReading",
    "ColumnReadings",
    "CategoryBins",
    "Design",
    "FeatureMap",
    "Features",
    "Floats",
    "KernelFeatures",
    "NullableFeatures",
    "NumberBins",
    "NumberKnots",
    "PairedBins",
    "PriorGroup",
    "PublicColumn",
    "ScaledColumns",
    "ShownList",
    "TransformedRows",
    "UnknownCells",
    "column_keys",
    "days_by_key",
    "declared_bins",
    "declared_readings",
    "in_days",
    "knots_between",
    "nullable_bins",
    "public_bins",
    "public_columns",
    "public_ends",
    "public_readings",
    "spread_ends",
    "stores_pairs",
    "warn_columns",
]
