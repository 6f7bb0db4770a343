"""Mistakes of parties: what is asked, who may vote, and rows of other columns."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot import GNMax, PrivacyAccountant, PublicData
from secretballot.parties import Agreement, Collaboration, Party

X = np.random.default_rng(0).normal(size=(160, 5))
Y = (X[:, 0] > 0).astype(int)
ASKED = X[:4]
NAMES = [f"h{at}" for at in range(8)]
AGREEMENT = Agreement(mechanism=GNMax(sigma=0.5), parties=NAMES)


def party(at, n_columns=5):
    rows = slice(20 * at, 20 * (at + 1))
    accountant = PrivacyAccountant(20.0, 1e-5)
    site = Party(LogisticRegression(), name=NAMES[at], accountant=accountant, classes=[0, 1])
    return site.fit(X[rows, :n_columns], Y[rows])


@pytest.fixture(scope="module")
def together():
    return Collaboration([party(at) for at in range(8)])


@pytest.mark.parametrize("parties", [party(0), 5], ids=["a party", "a number"])
def test_a_collaboration_has_a_list_of_parties(parties):
    with pytest.raises(TypeError, match="must be a list of fitted parties, 3 or more"):
        Collaboration(parties)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ASKED, "h0", AGREEMENT), r"asker=<ndarray.* must be the name.*ask\(asker, X, agreement"),
        ((3, ASKED, AGREEMENT), "asker=3 must be the name of a party"),
        (("h0", AGREEMENT, ASKED), r"agreement=<ndarray of shape \(4, 5\)> must come from agree"),
        (("h0", None, AGREEMENT), "X is of type NoneType, which is no table of rows"),
        (("h0", 5, AGREEMENT), "X is of type int, which is no table of rows"),
        (
            ("h0", PublicData(ASKED), AGREEMENT),
            "X is PublicData.*rows to predict are given as they",
        ),
        (("h0", ASKED[:, :3], AGREEMENT), "has 3 features, but party 'h0' is expecting 5"),
    ],
)
def test_a_question_that_is_none_costs_nothing(together, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        together.ask(*arguments)
    assert all(member.accountant.entries() == [] for member in together.parties.values())


@pytest.mark.parametrize("min_voters", [8, 100])
def test_more_voters_than_parties_are_refused_as_such(together, min_voters):
    with pytest.raises(ValueError, match=rf"min_voters={min_voters} .* 8 parties.*take 7 or fewer"):
        together.agree(GNMax, 4, min_voters=min_voters)
    assert together.agree(GNMax, 4, min_voters=7).min_voters == 7


def test_parties_of_other_columns_are_named_before_they_agree():
    with pytest.raises(ValueError, match="number of columns: 3 of 'h2'; 5 of 'h0', 'h1'"):
        Collaboration([party(at, 3 if at == 2 else 5) for at in range(8)])
