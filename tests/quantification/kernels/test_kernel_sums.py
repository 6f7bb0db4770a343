"""Sums of kernels over bags, against the whole Gram matrix."""

import itertools

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from secretballot.quantification._kernels import kernel_sums


def test_kernel_sums_against_the_whole_gram_matrix():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(57, 4)) + 100, rng.normal(size=(31, 4)) + 100
    sizes, others = np.array([1, 20, 30, 6]), np.array([30, 1])
    gammas = np.array([0.1, 0.2, 0.4, 0.5])
    ends = [np.r_[0, np.cumsum(s)] for s in (sizes, others)]

    def brute(A, B, a, b):
        return np.array(
            [
                [[rbf_kernel(A[i:j], B[k:m], gamma=g).sum() for k, m in itertools.pairwise(b)]
                 for i, j in itertools.pairwise(a)]
                for g in gammas
            ]
        )  # fmt: skip

    for kind in (np.asarray, sparse.csr_array):
        same = kernel_sums(kind(X), sizes, gammas, block_size=10)
        np.testing.assert_allclose(same, brute(X, X, ends[0], ends[0]), rtol=1e-7)
        cross = kernel_sums(kind(X), sizes, gammas, kind(Y), others, block_size=10)
        np.testing.assert_allclose(cross, brute(X, Y, *ends), rtol=1e-7)
