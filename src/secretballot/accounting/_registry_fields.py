"""Fields of a privacy statement in the public registry of deployments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from secretballot._base._tables import mechanism_text
from secretballot.accounting._assumptions import RELATIONS, UNITS
from secretballot.costs._orders import GAUSSIAN

if TYPE_CHECKING:
    from secretballot.accounting._statement import PrivacyStatement

_COMPOSITION = {
    GAUSSIAN: "Sequential, under Gaussian differential privacy: mu^2 adds up, priced by the exact "
    "worst case of each batch over adaptive choices.",
    "inf": "Sequential: epsilons and deltas add up.",
}


def registry_fields(statement: PrivacyStatement) -> dict[str, Any]:
    """Convert a statement to groups of fields of a deployment; ValueError without a guarantee."""
    if statement.accounting == "data_dependent":
        raise ValueError(
            "accounting='data_dependent': nothing is guaranteed over all data, so there is no "
            "epsilon to register."
        )
    levels, summary = statement.levels, statement.summary
    if any(level["share_spent"] > 1 for level in levels):
        raise ValueError("the budget is overspent: its epsilon does not hold.")
    order = levels[0]["order"]
    return {
        "dp_variant": {
            "variant_name": "Approximate DP",
            "unprotected_quantities": _paragraphs(statement.outside) or "None is recorded.",
        },
        "privacy_loss": {
            "privacy_unit": statement.unit,
            "privacy_unit_details": (
                f"Data sets are adjacent if {UNITS[statement.unit]} is "
                f"{RELATIONS[statement.relation]}."
            ),
            # The largest epsilon holds for all levels; delta is the same.
            "privacy_parameters": {
                "epsilon": max(level["epsilon"] for level in levels),
                "delta": levels[0]["delta"],
            },
            "privacy_parameters_details": summary["how_strongly"],
        },
        "accounting": {
            "composition": _paragraphs(
                [
                    _COMPOSITION.get(order, f"Sequential: Renyi divergences of order {order}."),
                    summary["until_when"],
                ]
            )
        },
        "implementation": {
            "mechanisms": _paragraphs(
                f"{group['words']}: {mechanism_text(group['mechanism'])}, "
                f"releases: {group['n_releases']}."
                for group in statement.released
            )
            or "Nothing was released yet.",
            "justification": _paragraphs(statement.assumptions),
        },
    }


def _paragraphs(sentences: Iterable[str]) -> str:
    return "\n\n".join(sentences)
