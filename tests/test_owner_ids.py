"""Owner ids that split a person, or put people together, by mistake."""

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant
from secretballot.accounting import PrivacyLeakWarning
from secretballot.measures import private_quantiles
from secretballot.tables import PrivateParts

N = 300
LARGE = 2.0**53


def in_memory(ids, tmp_path):
    x = np.arange(len(ids)) / len(ids)
    budget = PrivacyAccountant(50.0, 1e-5, unit="owner")
    return private_quantiles(x, bounds=(0, 1), accountant=budget, owners=ids, share="rest").n


def in_parts(ids, tmp_path):
    pytest.importorskip("pyarrow")
    rows = pd.DataFrame({"x": np.arange(len(ids)) / len(ids), "person": ids})
    rows.to_parquet(tmp_path / "part.parquet")
    parts = PrivateParts(tmp_path / "part.parquet", y=[], owners="person")
    budget = PrivacyAccountant(50.0, 1e-5, unit="owner")
    return private_quantiles(parts, bounds={"x": (0, 1)}, accountant=budget, share="rest").n


@pytest.mark.parametrize("count", [in_memory, in_parts])
@pytest.mark.parametrize("large", [LARGE, -LARGE, 2.0**60])
def test_floats_that_are_not_exact_are_refused(count, large, tmp_path):
    with pytest.raises(ValueError, match="too large to be exact"):
        count(np.array([*range(N - 1), large]), tmp_path)
    with pytest.raises(ValueError, match="too large to be exact"):
        count(np.array([*range(N - 1), 2**24], dtype=np.float32), tmp_path)
    assert count(np.array([*range(N - 1), np.copysign(LARGE - 1, large)]), tmp_path) == N
    assert count(np.array([*range(N - 1), int(large)]), tmp_path) == N


FORMS = {
    "composed": ("e\u0301va", "\u00e9va"),
    "wide digits": ("\uff11\uff12p", "12p"),
    "no width": ("p\u200b12", "p12"),
    "joiner": ("p\u034f12", "p12"),
    "byte order": ("\ufeffp12", "p12"),
    "selector": ("p12\ufe0f", "p12"),
    "sharp s": ("STRASSE", "stra\u00dfe"),
    "space": ("p12\u00a0", "p12"),
}


@pytest.mark.parametrize("count", [in_memory, in_parts])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [str, str.encode])
def test_ids_that_look_alike_are_warned_of(count, form, kind, tmp_path):
    ids = [kind(id_) for id_ in [*FORMS[form], *(f"x{n}" for n in range(N))]]
    with pytest.warns(PrivacyLeakWarning, match="in case, in spaces at their ends, or in forms"):
        assert count(ids, tmp_path) == N + 2
    ids = [kind(id_) for id_ in [FORMS[form][0], *(f"x{n}" for n in range(N))]]
    assert count(ids, tmp_path) == N + 1  # and no warning
