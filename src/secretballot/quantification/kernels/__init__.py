"""Kernel means of bags, explicit features of kernels, and class means as mixtures of bags."""

from secretballot.quantification.kernels._bag_errors import BagErrors as BagErrors
from secretballot.quantification.kernels._bag_errors import bag_errors as bag_errors
from secretballot.quantification.kernels._bag_errors import error_terms as error_terms
from secretballot.quantification.kernels._bag_gram import PRIOR_FREEDOM as PRIOR_FREEDOM
from secretballot.quantification.kernels._bag_gram import ROUNDING as ROUNDING
from secretballot.quantification.kernels._bag_gram import BagGram as BagGram
from secretballot.quantification.kernels._bag_gram import ClassMeans as ClassMeans
from secretballot.quantification.kernels._bag_gram import PartSums as PartSums
from secretballot.quantification.kernels._bag_gram import class_means as class_means
from secretballot.quantification.kernels._bag_gram import effect_variance as effect_variance
from secretballot.quantification.kernels._bag_gram import floor_variance as floor_variance
from secretballot.quantification.kernels._bag_gram import invert_products as invert_products
from secretballot.quantification.kernels._bag_gram import jackknife as jackknife
from secretballot.quantification.kernels._bag_gram import proportion_noise as proportion_noise
from secretballot.quantification.kernels._bag_gram import shrink_variance as shrink_variance
from secretballot.quantification.kernels._bag_gram import unmix as unmix
from secretballot.quantification.kernels._choose_kernel import choose_kernel as choose_kernel
from secretballot.quantification.kernels._embedding import FeatureEmbedding as FeatureEmbedding
from secretballot.quantification.kernels._embedding import KernelEmbedding as KernelEmbedding
from secretballot.quantification.kernels._feature_maps import KernelFeatures as KernelFeatures
from secretballot.quantification.kernels._feature_maps import make_features as make_features
from secretballot.quantification.kernels._kernel_sums import candidate_gammas as candidate_gammas
from secretballot.quantification.kernels._sub_bags import SubBags as SubBags
from secretballot.quantification.kernels._sub_bags import cut_bags as cut_bags
