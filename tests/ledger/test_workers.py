"""Workers of every kind: none repeats another's noise, and all of them spend for real."""

import multiprocessing
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from tests._fakes import Noisy, votes
from tests.ledger._draws import N_WORKERS, run_workers

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax


def distinct(answers):
    values = [value for answer in answers for value in answer]
    assert len(values) == 3 * len(answers)
    return len(set(values)) == len(values)


# Of some twenty normal numbers two are the same by chance once in 1e12 times.
@pytest.mark.unseeded
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *(
            pytest.param("processes", method, marks=[pytest.mark.slow] * (method != "fork"))
            for method in multiprocessing.get_all_start_methods()
        ),
        *(("joblib", backend) for backend in ("loky", "threading")),
        pytest.param("joblib", "multiprocessing", marks=pytest.mark.slow),
    ],
)
def test_noise_differs_between_workers(tmp_path, kind, method):
    check_noise(tmp_path / "budget.ledger", kind, method)


@pytest.mark.unseeded
@pytest.mark.parametrize(
    ("kind", "method"),
    [("processes", "fork"), pytest.param("joblib", "loky", marks=pytest.mark.slow)],
)
def test_noise_differs_between_workers_of_a_server(url, kind, method):
    check_noise(url, kind, method)


def check_noise(name, kind, method):
    answers = run_workers(kind, method, name)
    assert len(answers) == N_WORKERS + 2
    assert distinct(answers)
    accountant = PrivacyAccountant.open(name)
    assert accountant.spent().n_releases == len(answers)
    accountant._ledger.verify()


def test_equal_noise_would_be_noticed(tmp_path):
    seeded = PrivacyAccountant(
        50.0, 1e-5, ledger=tmp_path / "seeded", allow_seeded=True, order="renyi"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = [
            seeded.release(Noisy(sigma=40), votes(3), random_state=0).tolist() for _ in range(2)
        ]
    assert not distinct(answers)
    assert [entry.seeded for entry in seeded.entries()] == [True, True]


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_a_grid_search_spends_from_one_named_ledger(tmp_path):
    path = tmp_path / "search.ledger"
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=160)
    X = rng.normal(size=(160, 2)) + 4.0 * y[:, None]
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=8,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=PrivacyAccountant(100.0, 1e-5, ledger=path, order="renyi"),
        check_public_rows=False,
    )
    grid = {"mechanism": [GNMax(sigma=2), GNMax(sigma=3)], "n_teachers": [6, 8]}
    search = GridSearchCV(ensemble, grid, cv=2, n_jobs=2, error_score="raise")
    search.fit(X, y, X_public=PublicData(X[:20] + 0.1))
    # Eight fits and the refit, all of them in the caller's file.
    entries = PrivacyAccountant.open(path).entries()
    assert [(entry.sequence, entry.n_rows) for entry in entries] == [(i, 20) for i in range(1, 10)]
    assert len({entry.scope_id for entry in entries}) == 9
    assert sum('"sigma": 2' in entry.mechanism for entry in entries) in (4, 5)
    # The same budget, seen from the caller and from the search's copy of it.
    assert search.best_estimator_.accountant.spent().epsilon == ensemble.accountant.spent().epsilon
