"""Estimators and functions of scikit-learn that fit a model, often several times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator

from secretballot.screening import _fit_counts as counts
from secretballot.screening._own_scoring import failing_scores, pays, scoring_of, unpaid_scores


def _nothing(name: str, model: object) -> str:
    return ""


@dataclass(frozen=True)
class Enclosing:
    """Kind of estimator around a model.

    Attributes
    ----------
    module : str
        Its public module.
    count_fits : callable
        Function from the estimator, and the variables of its running `fit`, to the number of fits
        of the model; None if it is not known.
    parts : callable
        Function from the estimator to its private models, where it has several.
    learns : str
        Part that it learns from private labels; empty if there is none.
    remedy : str
    scores : bool
        Whether it scores with held-out private rows.
    repeats : bool
        Whether it repeats rows within a fit, if its `bootstrap` is True.
    neighbours : bool
        Whether it fits other models to the same rows, which may have no budget.
    folds : bool
        Whether it calls `cross_val_predict` for its own folds.
    refuse : callable
        Function from its name and the model to the reason why it can't fit it; empty if it can.
    """

    module: str
    count_fits: Callable[[BaseEstimator, Mapping[str, Any]], int | None]
    parts: Callable[[BaseEstimator], list[Any]] = counts.no_parts
    learns: str = ""
    remedy: str = ""
    scores: bool = False
    repeats: bool = False
    neighbours: bool = False
    folds: bool = False
    refuse: Callable[[str, Any], str] = _nothing

    def leak(self, name: str, setting: Callable[[str], object]) -> str:
        """Describe what leaves without noise; empty if nothing does."""
        if self.learns:
            return (
                f"{name} learns {self.learns} from labels of private rows, without noise. The "
                f"guarantee does not cover that, and the budget does not pay for it. {self.remedy}"
            )
        if self.repeats and setting("bootstrap"):
            return (
                f"bootstrap=True: {name} draws rows with replacement, so that a fit has several "
                "copies of a person's row, and is charged for one. The guarantee does not cover "
                "that. Pass bootstrap=False and max_samples=, or fit one model with all of the "
                "epsilon."
            )
        estimators: Any = setting("estimators") if self.neighbours else ()
        if unprotected := counts.unprotected_parts(estimators):
            return (
                f"{name} fits {unprotected!r} to the private rows too, without noise and outside "
                "the guarantee: its predictions, and the fitted models in it, show them. Vote "
                "among private models, or pass FrozenEstimator(model) of models of public rows."
            )
        if self.scores and not self.pays_scores(setting):
            return unpaid_scores(name, setting("estimator"))
        return ""

    def pays_scores(self, setting: Callable[[str], object]) -> bool:
        """Return whether it scores, and pays for that."""
        return self.scores and pays(scoring_of(setting("scoring"), setting("estimator")))

    def refusal(self, name: str, model: object, setting: Callable[[str], object]) -> str:
        """Describe why it would fail after the budget is spent; empty if it would not."""
        scoring = setting("scoring") if self.scores else None
        return (
            self.refuse(name, model)
            or failing_scores(name, scoring, setting("estimator"))
            or _refuse_varied_epsilon(name, setting)
        )


def _refuse_varied_epsilon(name: str, setting: Callable[[str], object]) -> str:
    """Refuse a search among epsilons whose refit may take more than is left then."""
    grids: Any = setting("param_grid") or setting("param_distributions") or {}
    names = {key for grid in (grids if isinstance(grids, list) else [grids]) for key in grid}
    if not setting("refit") or all(key.split("__")[-1] != "epsilon" for key in names):
        return ""
    return (
        f"{name} varies epsilon and fits once more with the best one, for which too little may be "
        "left. The largest epsilon is the best but for noise: pass it to the model, and search "
        "other parameters; or pass refit=False."
    )


def _refuse_columns(name: str, model: object) -> str:
    return (
        f"{name} chooses columns by fits to private rows. A private model has no coefficient for "
        "each column, and its pool and bounds have all of them: this would fail after the budget "
        "is spent. Choose columns by what they mean, columns=[...], or with public rows; the fit "
        "of a linear model shrinks columns that say nothing."
    )


def _refuse_chain(name: str, model: object) -> str:
    instead = (
        "Give PrivateLogisticRegression the matrix of labels itself: it learns all of them from "
        "one ballot a row."
        if name == "ClassifierChain"
        else "Fit a model to each target, with MultiOutputRegressor."
    )
    return (
        f"{name} gives each model the private targets of those before it as columns, which no "
        f"public row has: this would fail after some of the budget is spent. {instead}"
    )


def _refuse_classes(name: str, model: Any) -> str:
    classes = model.classes
    if classes is None or len(classes) == 2:
        return ""
    return (
        f"classes={list(classes)!r}, and {name} fits models of the two classes 0 and 1. Fit the "
        f"model itself, without {name}: it predicts several classes, from one fit."
    )


STACK = Enclosing(
    "sklearn.ensemble",
    counts.fits_of_stack,
    counts.private_parts,
    learns="its final estimator",
    remedy="Average models instead, or stack models of public rows.",
    folds=True,
)
_SEARCH = Enclosing("sklearn.model_selection", counts.fits_of_search, scores=True)
_HALVING = replace(_SEARCH, count_fits=counts.fits_of_halving)
_BAG = Enclosing("sklearn.ensemble", counts.fits_of_bag, repeats=True)
_VOTE = Enclosing("sklearn.ensemble", counts.fits_of_vote, counts.private_parts, neighbours=True)
_OUTPUTS = Enclosing("sklearn.multioutput", counts.fits_of_outputs)
_CHAIN = Enclosing("sklearn.multioutput", counts.fits_unknown, refuse=_refuse_chain)
_COLUMNS = Enclosing("sklearn.feature_selection", counts.fits_unknown, refuse=_refuse_columns)

ENCLOSING = {
    "StackingClassifier": STACK,
    "StackingRegressor": STACK,
    "CalibratedClassifierCV": Enclosing(
        "sklearn.calibration",
        counts.fits_of_calibration,
        learns="the calibration",
        remedy="Probabilities of PrivateLogisticRegression need none. Calibrate a fitted model "
        "with labelled public rows, CalibratedClassifierCV(FrozenEstimator(model)), or the student "
        "within an ensemble.",
        folds=True,
    ),
    "TunedThresholdClassifierCV": Enclosing(
        "sklearn.model_selection",
        counts.fits_of_threshold,
        learns="the threshold",
        remedy="Choose it by public facts, FixedThresholdClassifier(model, threshold=), or use "
        "class_weight='balanced' of PrivateLogisticRegression.",
    ),
    "GridSearchCV": _SEARCH,
    "RandomizedSearchCV": _SEARCH,
    "HalvingGridSearchCV": _HALVING,
    "HalvingRandomSearchCV": _HALVING,
    "BaggingClassifier": _BAG,
    "BaggingRegressor": _BAG,
    "VotingClassifier": _VOTE,
    "VotingRegressor": _VOTE,
    "OneVsRestClassifier": Enclosing(
        "sklearn.multiclass", counts.fits_of_rest, refuse=_refuse_classes
    ),
    "OneVsOneClassifier": Enclosing(
        "sklearn.multiclass", counts.fits_of_pairs, refuse=_refuse_classes
    ),
    "OutputCodeClassifier": Enclosing(
        "sklearn.multiclass", counts.fits_of_codes, refuse=_refuse_classes
    ),
    "MultiOutputClassifier": _OUTPUTS,
    "MultiOutputRegressor": _OUTPUTS,
    "ClassifierChain": _CHAIN,
    "RegressorChain": _CHAIN,
    "RFECV": _COLUMNS,
    "RFE": _COLUMNS,
    "SelectFromModel": _COLUMNS,
    "SequentialFeatureSelector": _COLUMNS,
}

#: Functions that fit an estimator; their names are those of `sklearn.model_selection`.
FUNCTIONS = {
    name: Enclosing("sklearn.model_selection", count_fits, scores=name != "cross_val_predict")
    for name, count_fits in (
        ("cross_validate", counts.fits_of_folds),
        ("cross_val_predict", counts.fits_of_predictions),
        ("learning_curve", counts.fits_of_sizes),
        ("validation_curve", counts.fits_of_values),
        ("permutation_test_score", counts.fits_of_permutations),
    )
}

#: Functions that fit a copy of a model, maybe in a worker, and the estimators that call them: these
#: make no copy before, so that workers see no estimator around a fit.
WORKER_FUNCTIONS = {
    ("sklearn.multiclass", "_fit_binary"): (
        "OneVsRestClassifier",
        "OneVsOneClassifier",
        "OutputCodeClassifier",
    ),
    ("sklearn.multioutput", "_fit_estimator"): ("MultiOutputClassifier", "MultiOutputRegressor"),
    ("sklearn.ensemble._bagging", "_parallel_build_estimators"): (
        "BaggingClassifier",
        "BaggingRegressor",
    ),
}
