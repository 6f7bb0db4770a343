"""One share says nothing, two say everything, and three that disagree are found out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from secretballot.computing import LEAK_BITS, PRIME, VALUE_BITS, opened, split
from secretballot.computing._shares import (
    MASK_BITS,
    add_to,
    added,
    as_integers,
    from_integers,
    read_shares,
)

# False alarms of the tests that draw: at most 1e-7 each.
ALARM = 1e-7


def test_the_field_holds_masked_numbers():
    # A prime by Lucas and Lehmer, and 3 modulo 4.
    s = 4
    for _ in range(125):
        s = (s * s - 2) % PRIME
    assert s == 0
    assert PRIME % 4 == 3
    # c = number + 2^bits + mask < 2^(bits + MASK_BITS) + 2^(bits + 1) must not wrap around.
    assert 2 ** (VALUE_BITS + MASK_BITS) + 2 ** (VALUE_BITS + 1) < PRIME
    # Of three parts of the mask each computing party misses one, a fourth of its range.
    assert LEAK_BITS == MASK_BITS - 2


elements = st.integers(0, PRIME - 1)


@given(secret=st.integers(-(2**61), 2**61), view=elements, party=st.integers(0, 2))
def test_any_view_fits_any_ballot_by_exactly_one_line(secret, view, party):
    # view = secret + (party + 1) slope: one slope, because party + 1 has an inverse.
    slope = (view - secret) * pow(party + 1, -1, PRIME) % PRIME
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secrets.token_bytes", lambda n: slope.to_bytes(n, "little"))
        shares = split(np.array([[secret]]))
    assert as_integers(shares[party])[0, 0] == view
    assert opened(shares)[0, 0] == secret


@pytest.mark.unseeded
@pytest.mark.parametrize("party", range(3))
def test_views_are_uniform_whatever_the_ballots(party):
    for secret in (0, 1, -3):
        view = as_integers(split(np.full(8_192, secret))[party])
        for digits in (view >> 123, view & 15):  # the first four bits, and the last
            frequencies = np.bincount(digits.astype(int), minlength=16)
            statistic = ((frequencies - 512) ** 2 / 512).sum()
            assert chi2.sf(statistic, 15) > ALARM / 18


@pytest.mark.unseeded
def test_a_reused_slope_is_not_uniform(monkeypatch):
    monkeypatch.setattr("secrets.token_bytes", lambda n: b"0123456789abcdef" * (n // 16))
    view = split(np.full(8_192, 1))[0]
    assert len(np.unique(view, axis=0)) == 1


def test_a_slope_is_drawn_again_that_is_the_prime(monkeypatch):
    drawn = iter([(PRIME + 2**127).to_bytes(16, "little") + bytes(16), bytes(range(16))])
    monkeypatch.setattr("secrets.token_bytes", lambda n: next(drawn))
    first = as_integers(split(np.array([0, 7]))[0])
    assert first.tolist() == [int.from_bytes(bytes(range(16)), "little"), 7]


@given(first=elements, second=elements)
def test_sums_are_those_of_the_field(first, second):
    edges = (0, 1, 2**63, 2**64 - 1, 2**64, PRIME - 1)
    left = from_integers(np.array([first, *edges], dtype=object))
    right = from_integers(np.array([second, *edges[::-1]], dtype=object))
    expected = (as_integers(left) + as_integers(right)) % PRIME
    np.testing.assert_array_equal(as_integers(added(left, right)), expected)
    total = left.copy()
    add_to(total, right)
    np.testing.assert_array_equal(as_integers(total), expected)


@pytest.mark.unseeded
def test_shares_survive_the_conversion_to_bytes():
    numbers = np.arange(-6, 6).reshape(3, 4)
    shares = [read_shares(each.tobytes(), (3, 4)) for each in split(numbers)]
    np.testing.assert_array_equal(opened(shares), numbers)
    np.testing.assert_array_equal(from_integers(as_integers(shares[0])), shares[0])
    # They add up.
    twice = [added(each, other) for each, other in zip(shares, split(numbers), strict=True)]
    np.testing.assert_array_equal(opened(twice), 2 * numbers)


@pytest.mark.unseeded
def test_a_share_that_was_altered_is_noticed():
    shares = split(np.array([1, 0]))
    for at in range(3):
        wrong = [each.copy() for each in shares]
        wrong[at][1] = added(wrong[at][1], np.array([1, 0], np.uint64))
        with pytest.raises(ValueError, match="don't belong to each other"):
            opened(wrong)
    with pytest.raises(ValueError, match="a number that is too large"):
        opened([from_integers(np.array([2**100], dtype=object))] * 3)


@pytest.mark.parametrize(
    ("data", "shape", "message"),
    [
        (bytes(31), [2], "31 bytes are not 2 shares"),
        (b"\xff" * 16, [1], "no element of the field"),
        (PRIME.to_bytes(16, "little"), [1], "no element of the field"),
    ],
)
def test_bytes_that_are_no_shares_are_refused(data, shape, message):
    with pytest.raises(ValueError, match=message):
        read_shares(data, shape)
