"""What an estimator with a budget shows of it, below scikit-learn's diagram."""

from __future__ import annotations

from typing import Any

from secretballot._tables import mechanism_text
from secretballot._views import Prose, View
from secretballot.accounting import PrivacyAccountant


class BudgetShown:
    """Estimators whose fits spend from an accountant.

    `_fit_scope` is what marks a fit's releases in the ledger, and `_fit_told` says in a line what
    they brought; neither tells anything private.
    """

    accountant: Any

    def budget_report(self) -> View:
        """Return how much this fit has spent, how much others, and what is left. Free of charge.

        Returns
        -------
        View
            A table with a bar for each level of the budget: text if it is printed, HTML in a
            notebook, where it stands below the diagram of the estimator. A data-dependent spend is
            withheld.
        """
        if self.accountant is None:
            return View("Budget", (Prose.of("none: accountant=None, so nothing can be released"),))
        if not isinstance(self.accountant, PrivacyAccountant):
            kind = type(self.accountant).__name__
            return View("Budget", (Prose.of(f"none: accountant is a {kind}, and can't be asked"),))
        scope = self._fit_scope()
        shown: View = self.accountant.report(scope)
        # What another budget bought stands below that one only: it may have to be withheld.
        told = self._fit_told() if self.accountant._knows(scope) else ""
        if not told:
            return shown
        return View(shown.title, (*shown.parts, Prose.of(told, quiet=True)), about=shown.about)

    def _fit_scope(self) -> Any:
        raise NotImplementedError

    def _fit_told(self) -> str:
        return ""

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return diagram + self.budget_report().html


def short_text(mechanism: Any) -> str:
    """Return the public parameters of a mechanism on one line, without those left as they are."""
    fields = getattr(mechanism, "__dataclass_fields__", {})
    said = {
        name: value
        for name, value in mechanism.describe().items()
        if value is not None and not (name in fields and value == fields[name].default)
    }
    return mechanism_text({**said, "mechanism": type(mechanism).__name__})
