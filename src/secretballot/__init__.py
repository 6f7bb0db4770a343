"""Differentially private learning by voting: the vote is counted, the ballots stay secret.

Names are imported on first use, so that `secretballot.accounting` and the command line start
without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secretballot import (
        accounting,
        audit,
        checks,
        datasets,
        ensemble,
        inspection,
        mechanisms,
        quantification,
    )
    from secretballot.accounting import (
        BudgetExceededError,
        LedgerError,
        PrivacyAccountant,
        PrivacyLeakWarning,
        PrivacyRemaining,
        PrivacySpent,
        PrivacyStatement,
        RenyiCost,
        calibrate,
    )
    from secretballot.datasets import load_adult
    from secretballot.ensemble import (
        PrivateLabels,
        PrivateTeacherEnsemble,
        PublicData,
        Upsampling,
        Vanishing,
        Weighting,
    )
    from secretballot.mechanisms import (
        ConfidentGNMax,
        DirichletProportions,
        GaussianProportions,
        GNMax,
        LaplacePriorProportions,
        LaplaceProportions,
    )
    from secretballot.quantification import (
        MMDClassRatioEstimator,
        PerBag,
        SoftmaxClassRatioEstimator,
        publish_proportions,
    )

__version__ = "0.1.0"

__all__ = [
    "accounting",
    "audit",
    "checks",
    "datasets",
    "ensemble",
    "inspection",
    "mechanisms",
    "quantification",
    "BudgetExceededError",
    "LedgerError",
    "PrivacyAccountant",
    "PrivacyLeakWarning",
    "PrivacyRemaining",
    "PrivacySpent",
    "PrivacyStatement",
    "RenyiCost",
    "calibrate",
    "load_adult",
    "PrivateLabels",
    "PrivateTeacherEnsemble",
    "PublicData",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "ConfidentGNMax",
    "GNMax",
    "DirichletProportions",
    "GaussianProportions",
    "LaplacePriorProportions",
    "LaplaceProportions",
    "MMDClassRatioEstimator",
    "PerBag",
    "SoftmaxClassRatioEstimator",
    "publish_proportions",
    "__version__",
]

_HOME = {
    "BudgetExceededError": "accounting",
    "LedgerError": "accounting",
    "PrivacyAccountant": "accounting",
    "PrivacyLeakWarning": "accounting",
    "PrivacyRemaining": "accounting",
    "PrivacySpent": "accounting",
    "PrivacyStatement": "accounting",
    "RenyiCost": "accounting",
    "calibrate": "accounting",
    "load_adult": "datasets",
    "PrivateLabels": "ensemble",
    "PrivateTeacherEnsemble": "ensemble",
    "PublicData": "ensemble",
    "Upsampling": "ensemble",
    "Vanishing": "ensemble",
    "Weighting": "ensemble",
    "ConfidentGNMax": "mechanisms",
    "GNMax": "mechanisms",
    "DirichletProportions": "mechanisms",
    "GaussianProportions": "mechanisms",
    "LaplacePriorProportions": "mechanisms",
    "LaplaceProportions": "mechanisms",
    "MMDClassRatioEstimator": "quantification",
    "PerBag": "quantification",
    "SoftmaxClassRatioEstimator": "quantification",
    "publish_proportions": "quantification",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in __all__:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
