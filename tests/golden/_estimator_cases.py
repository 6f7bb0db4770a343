"""Seeded fits, labels, scores, choices and shares of whole estimators, with their ledgers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.golden._plain import ledger_entries, plain

import secretballot as sb

_DELTA = 1e-5


def _budget(epsilon: Any = 4.0, **settings: Any) -> sb.PrivacyAccountant:
    return sb.PrivacyAccountant(epsilon=epsilon, delta=_DELTA, allow_seeded=True, **settings)


def _rows(n_rows: int = 1500, n_classes: int = 2) -> tuple[Any, Any, Any]:
    """Return private rows, their classes, and public rows."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_rows + 300, 4))
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=len(X))
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.searchsorted(cuts, score)
    return X[:n_rows], y[:n_rows], X[n_rows:]


def _ensemble(mechanism: Any, *, n_classes: int = 2, order: Any = "gaussian") -> Any:
    X, y, pool = _rows(n_classes=n_classes)
    accountant = _budget(order=order)
    ensemble = sb.PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        n_teachers=50,
        mechanism=mechanism,
        student=LogisticRegression(),
        classes=list(range(n_classes)),
        accountant=accountant,
        check_public_rows=False,
        random_state=0,
    ).fit(X, y, X_public=pool[:200])
    return accountant, {
        "votes": ensemble._votes if hasattr(ensemble, "_votes") else None,
        "labels": ensemble.labels_.labels if hasattr(ensemble, "labels_") else None,
        "probabilities": ensemble.predict_proba(pool[:5]),
    }


def _levels(individualization: Any) -> Any:
    X, y, pool = _rows()
    accountant = _budget({"strict": 2.0, "generous": 4.0})
    levels = np.where(np.arange(len(X)) % 3 == 0, "strict", "generous")
    ensemble = sb.PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        n_teachers=40,
        individualization=individualization,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
        random_state=0,
    ).fit(X, y, X_public=pool[:60], budgets=levels)
    return accountant, {"probabilities": ensemble.predict_proba(pool[:5])}


def _labels(mechanism: Any) -> Any:
    X, _, pool = _rows()
    y = (X[:, :3] > 0.2).astype(int)
    accountant = _budget(8.0)
    ensemble = sb.PrivateTeacherEnsemble(
        RandomForestClassifier(5, max_depth=3, random_state=0),
        n_teachers=40,
        mechanism=mechanism,
        classes=[[0, 1]] * 3,
        accountant=accountant,
        check_public_rows=False,
        random_state=0,
    ).fit(X, y)
    answer = ensemble.predict_private(pool[:30])
    return accountant, {"labels": answer.labels, "answered": answer.answered}


def _regression(**settings: Any) -> Any:
    n_classes = settings.pop("n_classes", 2)
    epsilon = settings.pop("budget", 1.0)
    data = settings.pop("data", {})
    X, y, pool = _rows(6000, n_classes)
    accountant = _budget(epsilon, unit="owner" if "owners" in data else "row")
    model = sb.PrivateLogisticRegression(
        classes=list(range(n_classes)),
        accountant=accountant,
        check_public_rows=False,
        random_state=0,
        **settings,
    )
    if "bounds" in settings:
        model.fit(X, y, **data)
    else:
        model.fit(X, y, X_public=sb.PublicData(pool), **data)
    return accountant, {
        "coef": model.coef_,
        "intercept": model.intercept_,
        "errors": model.coef_error_,
        "rounds": model.n_rounds_,
    }


def _scores() -> Any:
    X, y, pool = _rows()
    accountant = _budget()
    student = LogisticRegression().fit(pool, (pool[:, 0] > 0).astype(int))
    settings = {"epsilon": 0.5, "random_state": 0}
    score = sb.score_private(accountant, y, student.predict(X), **settings)
    confusion = sb.measures.confusion_private(
        accountant, y, student.predict(X), classes=[0, 1], **settings
    )
    return accountant, {"score": score, "confusion": confusion}


def _top_k() -> Any:
    counts = np.bincount(np.random.default_rng(3).zipf(1.6, size=4000) % 40, minlength=40)
    items = {f"item {at}": int(count) for at, count in enumerate(counts)}
    accountant = _budget(order="renyi", approximation_delta=5e-6)
    selections = {
        name: sb.private_top_k(
            items, 5, accountant=accountant, epsilon=0.5, mechanism=name, random_state=0
        )
        for name in ("stable", "exponential")
    }
    return accountant, selections


def _proportions(mechanism: str) -> Any:
    rng = np.random.default_rng(4)
    bags = [rng.integers(0, 3, 100) for _ in range(9)]
    published = sb.publish_proportions(bags, [0, 1, 2], 1.0, _DELTA, mechanism, random_state=0)
    return None, {"proportions": published.proportions}


def _collaboration() -> Any:
    X, y, pool = _rows()
    parties = [
        sb.parties.Party(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            name=f"site {at}",
            accountant=_budget(),
            classes=[0, 1],
            random_state=0,
        ).fit(X[at::12], y[at::12])
        for at in range(12)
    ]
    together = sb.parties.Collaboration(parties)
    agreement = together.agree(sb.GNMax, n_rows=20)
    answer = together.ask("site 0", pool[:20], agreement, random_state=0)
    return parties[1].accountant, {"labels": answer.labels, "sigma": agreement.mechanism.sigma}


#: What is computed, by name.
CASES: dict[str, Callable[[], Any]] = {
    "ensemble, GNMax": lambda: _ensemble(sb.GNMax(sigma=10.0)),
    "ensemble, three classes": lambda: _ensemble(sb.GNMax(sigma=10.0), n_classes=3),
    "ensemble, threshold, renyi": lambda: _ensemble(
        sb.ConfidentGNMax(sigma=10.0, sigma_threshold=20.0, threshold=30.0), order="renyi"
    ),
    "ensemble, chosen mechanism": lambda: _ensemble(None),
    "levels, weighting": lambda: _levels(sb.Weighting()),
    "levels, upsampling": lambda: _levels(sb.Upsampling()),
    "levels, vanishing": lambda: _levels(sb.Vanishing()),
    "labels, binary": lambda: _labels(sb.BinaryVoting(sigma=8.0, n_votes=40)),
    "labels, tau": lambda: _labels(sb.TauVoting(sigma=8.0, n_votes=40, tau=1.0)),
    "labels, powerset": lambda: _labels(sb.mechanisms.PowersetVoting(sigma=8.0, n_labels=3)),
    "regression": _regression,
    "regression, linear": lambda: _regression(features="linear"),
    "regression, three classes": lambda: _regression(n_classes=3, features="additive"),
    "regression, no public rows": lambda: _regression(bounds=(-4.0, 4.0)),
    "regression, owners": lambda: _regression(data={"owners": np.arange(6000) // 3}),
    "regression, levels": lambda: _regression(
        budget={"strict": 0.5, "generous": 1.0},
        data={"budgets": np.where(np.arange(6000) % 3 == 0, "strict", "generous")},
    ),
    "scores": _scores,
    "top k": _top_k,
    "proportions, Gaussian": lambda: _proportions("gaussian"),
    "proportions, Dirichlet": lambda: _proportions("dirichlet"),
    "collaboration": _collaboration,
}


def estimator_case(name: str) -> dict[str, Any]:
    """Return what one case gives, and its ledger."""
    accountant, results = CASES[name]()
    entries = [] if accountant is None else ledger_entries(accountant)
    return {"results": plain(results), "entries": entries}
