"""Kernel means of bags, and the features that stand in for kernels."""

from secretballot.quantification.kernels._bag_errors import BagErrors, bag_errors, error_terms
from secretballot.quantification.kernels._bag_gram import (
    ROUNDING,
    BagGram,
    PartSums,
    jackknife,
    noise_floor,
    proportion_noise,
    steady,
    unmix,
)
from secretballot.quantification.kernels._choose_kernel import choose_kernel
from secretballot.quantification.kernels._class_means import (
    ClassMeans,
    class_means,
    effect_variance,
)
from secretballot.quantification.kernels._embedding import (
    FeatureEmbedding,
    KernelEmbedding,
    explicit_features,
)
from secretballot.quantification.kernels._feature_maps import feature_table
from secretballot.quantification.kernels._kernel_sums import candidate_gammas
from secretballot.quantification.kernels._sub_bags import SubBags, cut

__all__ = [
    "ROUNDING",
    "BagErrors",
    "BagGram",
    "ClassMeans",
    "FeatureEmbedding",
    "KernelEmbedding",
    "PartSums",
    "SubBags",
    "bag_errors",
    "candidate_gammas",
    "choose_kernel",
    "class_means",
    "cut",
    "effect_variance",
    "error_terms",
    "explicit_features",
    "feature_table",
    "jackknife",
    "noise_floor",
    "proportion_noise",
    "steady",
    "unmix",
]
