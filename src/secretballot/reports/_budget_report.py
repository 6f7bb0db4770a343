"""Budget reports of estimators, shown below scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import Field, fields, is_dataclass
from typing import TYPE_CHECKING

from secretballot._base._view import Prose, View, mechanism_text, percent
from secretballot.accounting._accountant import PrivacyAccountant

if TYPE_CHECKING:
    from secretballot.ledger._budget import Scope
    from secretballot.mechanisms._base import Mechanism


class BudgetReportMixin:
    """Mixin for estimators whose fits spend from an accountant.

    `_fit_scope` is the ledger's scope of the last fit, and `_fit_summary` one line about its
    releases. Both are public.
    """

    accountant: PrivacyAccountant | None

    def budget_report(self) -> View:
        """Report the share of the budget that this fit and others have spent. Free of charge.

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
        view: View = self.accountant.report(scope)
        # The summary of a fit belongs to its own budget, which may withhold it.
        summary = self._fit_summary() if self.accountant._knows(scope) else ""
        if not summary:
            return view
        return View(view.title, (*view.parts, Prose.of(summary, quiet=True)), about=view.about)

    def _fit_scope(self) -> Scope | None:
        raise NotImplementedError

    def _fit_summary(self) -> str:
        return ""

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return diagram + self.budget_report().html


@contextmanager
def explained_interrupts(
    estimator: BudgetReportMixin, result: Callable[[], str] = lambda: ""
) -> Iterator[None]:
    """Raise Ctrl-C in a fit as a KeyboardInterrupt that tells what was charged, and what is kept.

    A `CompletedInterrupt` of one of its releases has an answer of no use to the user.
    """
    before = estimator._fit_scope()
    try:
        yield
    except KeyboardInterrupt:
        scope = estimator._fit_scope()
        charge = _charge_text(estimator.accountant, None if scope == before else scope)
        outcome = result() or "gave no model, and the estimator is as it was"
        message = f"the fit was interrupted: it {outcome}; {charge}."
        raise KeyboardInterrupt(message) from None


def _charge_text(accountant: PrivacyAccountant | None, scope: Scope | None) -> str:
    if accountant is None or scope is None:
        return "nothing was charged"
    refund = ", after the refund for what was not drawn"
    if accountant.accounting == "data_dependent":
        return f"its charge{refund}, is in the ledger, and depends on the votes"
    spent = accountant._spent_or_none(scope)
    if spent is None:
        return "its charge is unknown, as the ledger can't be read"
    shares = {level: part.share for level, part in spent.items()}
    if not any(shares.values()):
        return "nothing was charged"
    if len(shares) == 1:
        return f"{percent(*shares.values())} of the budget was charged{refund}"
    by_level = ", ".join(f"{percent(share)} of {level!r}" for level, share in shares.items())
    return f"{by_level} was charged{refund}"


def short_text(mechanism: Mechanism) -> str:
    """Format the public parameters of a mechanism on one line, without those at their defaults."""
    described: tuple[Field[object], ...] = fields(mechanism) if is_dataclass(mechanism) else ()
    defaults = {field.name: field.default for field in described}
    parameters = {
        name: value
        for name, value in mechanism.describe().items()
        if value is not None and not (name in defaults and value == defaults[name])
    }
    return mechanism_text({**parameters, "mechanism": type(mechanism).__name__})
