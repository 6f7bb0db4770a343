"""Products, inverses and solutions of matrices, in each order in memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from secretballot._base._matrices import cholesky_root, gram, inverse, mirror, product, solve

RNG = np.random.default_rng(0)
SIZES = [1, 2, 63, 64, 65, 150]


def orders(matrix: np.ndarray) -> list[np.ndarray]:
    """Return the same matrix by rows, by columns, and as a part of a larger one."""
    larger = np.zeros((matrix.shape[0] + 3, 2 * matrix.shape[1]))
    larger[2:-1, ::2] = matrix
    return [np.ascontiguousarray(matrix), np.asfortranarray(matrix), larger[2:-1, ::2]]


@pytest.mark.parametrize("size", SIZES)
def test_in_each_order(size: int) -> None:
    A, B = RNG.normal(size=(size + 7, size)), RNG.normal(size=(size, 5))
    vector = RNG.normal(size=size)
    for rows in orders(A):
        np.testing.assert_allclose(gram(rows), A.T @ A, atol=1e-10)
        np.testing.assert_allclose(gram(rows[:3], rows[3:]), A.T @ A, atol=1e-10)
        np.testing.assert_allclose(product(rows, vector), A @ vector, atol=1e-10)
        np.testing.assert_allclose(product(rows.T, A @ vector), A.T @ A @ vector, atol=1e-8)
        for right in orders(B):
            np.testing.assert_allclose(product(rows, right), A @ B, atol=1e-10)
    square = A.T @ A + np.eye(size)
    for matrix in orders(square):
        np.testing.assert_allclose(inverse(matrix) @ square, np.eye(size), atol=1e-8)
        solution = solve(cholesky_root(matrix), vector)
        np.testing.assert_allclose(square @ solution, vector, atol=1e-8)
        np.testing.assert_array_equal(matrix, square)  # inputs stay as they are


@pytest.mark.parametrize("size", SIZES)
def test_results_are_symmetric(size: int) -> None:
    A = RNG.normal(size=(2 * size, size))
    for symmetric in (gram(A), inverse(A.T @ A)):
        np.testing.assert_array_equal(symmetric, symmetric.T)
    for matrix in orders(np.triu(A[:size])):
        expected = np.triu(A[:size]) + np.triu(A[:size], 1).T
        np.testing.assert_array_equal(mirror(matrix), expected)


def test_indefinite_matrices_are_refused() -> None:
    indefinite = np.diag([1.0, -1.0])
    for compute in (inverse, cholesky_root):
        with pytest.raises(LinAlgError, match="minor 2"):
            compute(indefinite)


def test_a_vector_of_another_length_is_refused() -> None:
    for length in (2, 4):
        with pytest.raises(AssertionError):
            product(np.ones((2, 3)), np.ones(length))
