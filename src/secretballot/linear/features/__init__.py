"""Features of rows from public rows or declarations, of bounded length."""

from secretballot.linear.features._additive_bins import (
    FEW_PUBLIC_ROWS,
    FEWEST_PUBLIC_ROWS,
    SPIKE_SHARE,
    AdditiveBins,
    CategoryBins,
    NumberBins,
    declared_bins,
    public_bins,
)
from secretballot.linear.features._column_pair import ColumnPair
from secretballot.linear.features._columns import (
    Categories,
    PublicColumn,
    column_keys,
    public_columns,
)
from secretballot.linear.features._dense_features import ScaledColumns, TransformedRows
from secretballot.linear.features._design import Design, FeatureMap, Features, Floats
from secretballot.linear.features._kernel_features import KernelFeatures
from secretballot.linear.features._paired_bins import PairedBins

__all__ = [
    "FEWEST_PUBLIC_ROWS",
    "FEW_PUBLIC_ROWS",
    "SPIKE_SHARE",
    "AdditiveBins",
    "Categories",
    "ColumnPair",
    "CategoryBins",
    "Design",
    "FeatureMap",
    "Features",
    "Floats",
    "KernelFeatures",
    "NumberBins",
    "PairedBins",
    "PublicColumn",
    "ScaledColumns",
    "TransformedRows",
    "column_keys",
    "declared_bins",
    "public_bins",
    "public_columns",
]
