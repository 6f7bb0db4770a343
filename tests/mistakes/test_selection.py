"""Mistakes with private quantiles and private counts of items."""

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import Mistake, cases, check

from secretballot import PrivacyAccountant
from secretballot.selection import private_quantiles

AMOUNTS = pd.Series(np.linspace(0, 2_000, 4_000), name="amount")
#: Of 4,000 cells, the 2,000 from 1,000 on can't be read.
WRITTEN = AMOUNTS.map("{:,.2f}".format).to_frame()


def quantiles(X, bounds=(0, 5_000), q=0.5):
    return lambda accountant: private_quantiles(
        X, q, bounds=bounds, accountant=accountant, share="rest"
    )


MISTAKES = (
    Mistake(
        "commas in thousands",
        r"about \d\d% of the rows.*the column 'amount'.*no numbers.*to_numeric",
        quantiles(WRITTEN),
        found="for 1 %",
    ),
    Mistake(
        "commas in thousands of one of two columns",
        r"about \d\d% of the rows.*a column.*no numbers.*to_numeric",
        quantiles(WRITTEN.assign(other=1.0)),
        found="for 1 %",
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_it_is_found_in_time_and_the_message_has_the_remedy(mistake, make):
    check(mistake, make)


def test_the_remedy_of_cells_that_are_no_numbers():
    X = WRITTEN.assign(amount=pd.to_numeric(WRITTEN["amount"].str.replace(",", "")))
    released = quantiles(X)(PrivacyAccountant(4.0, 1e-5))
    assert released.values[0, 0] == pytest.approx(1_000, abs=50)
