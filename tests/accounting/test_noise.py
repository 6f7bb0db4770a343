"""Where the noise comes from: of its own for each release, and told if it can be repeated."""

import warnings

import numpy as np
import pytest
from tests._fakes import Noisy, votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning, _protocol


def draw(accountant, **kwargs):
    return accountant.release(Noisy(sigma=500), votes(3), **kwargs)


def test_every_release_has_noise_of_its_own(accountant):
    first, second = draw(accountant), draw(accountant)
    assert not np.isin(first, second).any()
    assert not any(entry.seeded for entry in accountant.entries())


def test_seeded_noise_repeats_itself_warns_once_and_is_marked(accountant):
    with pytest.warns(PrivacyLeakWarning, match="protects nobody"):
        first = draw(accountant, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (0, np.int64(0), np.random.SeedSequence(0), np.random.default_rng(0)):
            np.testing.assert_array_equal(draw(accountant, random_state=seed), first)
    assert all(entry.seeded for entry in accountant.entries())
    assert len(accountant.entries()) == 5
    # Whoever opens another budget is told again.
    with pytest.warns(PrivacyLeakWarning, match="protects nobody"):
        draw(PrivacyAccountant(1.0, 1e-5, order="renyi"), random_state=0)


def test_seeded_noise_is_refused_on_a_named_ledger(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "real.ledger", order="renyi")
    with pytest.raises(ValueError, match="allow_seeded=True"):
        draw(accountant, random_state=0)
    assert accountant.entries() == []
    draw(accountant)
    trial = PrivacyAccountant(
        1.0, 1e-5, ledger=tmp_path / "trial.ledger", allow_seeded=True, order="renyi"
    )
    with pytest.warns(PrivacyLeakWarning):
        draw(trial, random_state=0)
    assert PrivacyAccountant.open(trial.ledger).allow_seeded


def test_where_warnings_are_errors_seeded_noise_releases_nothing(accountant):
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PrivacyLeakWarning):
                draw(accountant, random_state=0)
    assert accountant.entries() == []


@pytest.mark.parametrize("seed", [-1, 0.5, True, "seed", np.random.RandomState(0), [1, 2]])
def test_bad_sources_of_noise(accountant, seed):
    with pytest.raises(ValueError, match="random_state=.*not a source of noise"):
        draw(accountant, random_state=seed)
    assert accountant.entries() == []


def test_the_generator_is_chacha20_with_a_key_of_the_operating_system(monkeypatch):
    monkeypatch.setattr(_protocol.os, "urandom", bytes)
    stream = _protocol.noise_generator().bit_generator.random_raw(2)
    # The first sixteen bytes for the key zero and the counter zero (RFC 7539, appendix A.1).
    assert stream.astype("<u8").tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"
