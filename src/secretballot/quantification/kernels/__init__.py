"""Kernel means of bags, explicit features of kernels, and class means as mixtures of bags."""

from secretballot.quantification.kernels._bag_errors import BagErrors, bag_errors, error_terms
from secretballot.quantification.kernels._bag_gram import (
    ROUNDING,
    BagGram,
    ClassMeans,
    PartSums,
    class_means,
    effect_variance,
    floor_variance,
    jackknife,
    proportion_noise,
    shrink_variance,
    unmix,
)
from secretballot.quantification.kernels._choose_kernel import choose_kernel
from secretballot.quantification.kernels._embedding import FeatureEmbedding, KernelEmbedding
from secretballot.quantification.kernels._feature_maps import KernelFeatures, make_features
from secretballot.quantification.kernels._kernel_sums import candidate_gammas
from secretballot.quantification.kernels._sub_bags import SubBags, cut_bags

__all__ = [
    "ROUNDING",
    "BagErrors",
    "BagGram",
    "ClassMeans",
    "FeatureEmbedding",
    "KernelFeatures",
    "KernelEmbedding",
    "PartSums",
    "SubBags",
    "bag_errors",
    "candidate_gammas",
    "choose_kernel",
    "class_means",
    "cut_bags",
    "effect_variance",
    "error_terms",
    "floor_variance",
    "jackknife",
    "make_features",
    "proportion_noise",
    "shrink_variance",
    "unmix",
]
