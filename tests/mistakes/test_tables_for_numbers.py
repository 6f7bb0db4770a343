"""Tables in the place of numbers: their length is taken, and no error prints what is in them."""

import pandas as pd
import pytest
import scipy.sparse as sp
from tests.mistakes._mistake import LABELS, N_PUBLIC, POOL, N, X, logistic, numbers, teachers

from secretballot import PrivacyAccountant
from secretballot.ensemble import recommend_teachers
from secretballot.measures import (
    price_regression_score,
    price_score,
    private_quantiles,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.mechanisms import GNMax
from secretballot.quantification import publish_proportions

SECRET = 271828.25
#: Every table holds the secret number in each cell.
FRAME = pd.DataFrame({f"column {number}": [SECRET] * N for number in range(4)})
TABLES = {
    "frame": FRAME,
    "column": FRAME["column 0"],
    "array": FRAME.to_numpy(),
    "list": FRAME.to_numpy().tolist(),
    "sparse": sp.csr_array(FRAME.to_numpy()),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("make", [logistic, numbers, teachers])
def test_the_length_of_a_table_is_taken_where_a_number_of_rows_is_asked(make, name):
    table = TABLES[name]
    model = make(PrivacyAccountant(2.0, 1e-5))
    of_number, of_table = (model.price_fit(n, POOL, n_scored=n) for n in (N, table))
    assert str(of_table) == str(of_number)


def test_other_numbers_of_rows():
    accountant = PrivacyAccountant(2.0, 1e-5)
    of_number, of_table = (price_score(accountant, n) for n in (N, FRAME))
    assert of_table == of_number
    of_number, of_table = (
        price_regression_score(accountant, n, target_bounds=(0, 1)) for n in (N, FRAME)
    )
    assert of_table == of_number
    of_number, of_table = (
        recommend_teachers(n_private=n, n_public=pool, epsilon=1.0, delta=1e-5, plain_table=False)
        for n, pool in ((N, N_PUBLIC), (FRAME, POOL))
    )
    assert str(of_table) == str(of_number)
    noisy = GNMax(sigma=400.0)
    assert accountant.price(noisy, POOL) == accountant.price(noisy, N_PUBLIC)


def test_levels_of_tables():
    accountant = PrivacyAccountant({"strict": 1.0, "generous": 3.0}, 1e-5)
    model = logistic(accountant)
    of_numbers = model.price_fit({"strict": 300, "generous": N}, POOL)
    of_tables = model.price_fit({"strict": FRAME[:300], "generous": FRAME}, POOL)
    assert str(of_tables) == str(of_numbers)


def test_a_table_does_not_tell_how_many_owners_there_are():
    accountant = PrivacyAccountant(2.0, 1e-5, unit="owner")
    for ask in (
        lambda: logistic(accountant).price_fit(FRAME, POOL),
        lambda: price_score(accountant, FRAME),
    ):
        with pytest.raises(ValueError, match="Give the number of owners") as error:
            ask()
        assert str(SECRET) not in str(error.value)


def budget():
    return PrivacyAccountant(2.0, 1e-5)


REFUSED = {
    "n_fits": lambda table: logistic(budget()).price_fit(N, POOL, n_fits=table),
    "epsilon": lambda table: PrivacyAccountant(table, 1e-5),
    "delta": lambda table: PrivacyAccountant(1.0, table),
    "approximation delta": lambda table: PrivacyAccountant(1.0, 1e-5, approximation_delta=table),
    "bounds": lambda table: logistic(budget(), bounds=table).fit(X, LABELS),
    "bounds of quantiles": lambda table: private_quantiles(
        X, bounds=table, accountant=budget(), share=0.5
    ),
    "target bounds": lambda table: regression_score_private(
        budget(), LABELS, LABELS, target_bounds=table, share=0.5
    ),
    "levels of quantiles": lambda table: private_quantiles(
        X, table, bounds=(0, 1), accountant=budget(), share=0.5
    ),
    "accountant": lambda table: private_top_k([1, 2], 1, accountant=table, share=0.5),
    "k": lambda table: private_top_k([1, 2], table, accountant=budget(), share=0.5),
    "share": lambda table: score_private(budget(), LABELS, LABELS, share=table),
    "sigma": lambda table: score_private(budget(), LABELS, LABELS, sigma=table),
    "level": lambda table: score_private(budget(), LABELS, LABELS, share=0.5, level=table),
    "epsilon of a fit": lambda table: logistic(budget(), epsilon=table).fit(X, LABELS),
    "scope": lambda table: budget().price(GNMax(sigma=400.0), 3, scope=table),
    "name of a child": lambda table: budget().child(table, epsilon=0.5),
    "mechanism": lambda table: budget().release(table, GNMax(sigma=400.0)),
    "mechanism of a price": lambda table: budget().price(table, 3),
    "mechanism of proportions": lambda table: publish_proportions(
        [LABELS], [0, 1], 1.0, 1e-6, table
    ),
    "random state": lambda table: budget().release(GNMax(sigma=9.0), [[1, 2]], random_state=table),
    "unit": lambda table: PrivacyAccountant(1.0, 1e-5, unit=table),
    "relation": lambda table: PrivacyAccountant(1.0, 1e-5, relation=table),
    "order": lambda table: PrivacyAccountant(1.0, 1e-5, order=table),
    "accept": lambda table: PrivacyAccountant.open("missing.ledger", accept=table),
    "directions": lambda table: logistic(budget(), monotonic_cst=table).fit(X, LABELS),
    "public rows": lambda table: logistic(budget()).fit(X, LABELS, X_public={"column": table}),
}


@pytest.mark.parametrize("table", ["frame", "array", "list"])
@pytest.mark.parametrize("name", REFUSED)
def test_no_error_prints_a_table(name, table):
    with pytest.raises(Exception) as error:  # noqa: PT011 - of any kind
        REFUSED[name](TABLES[table])
    assert str(int(SECRET)) not in str(error.value)
    assert "ambiguous" not in str(error.value)
    assert len(str(error.value)) < 1_000


@pytest.mark.parametrize("make", [logistic, numbers])
def test_labels_in_the_place_of_public_rows(make):
    with pytest.raises(ValueError, match="X_public: expected 2D array"):
        make(budget()).price_fit(X, LABELS)
