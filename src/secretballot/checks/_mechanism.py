"""What every mechanism has to satisfy, whatever it releases."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from secretballot.accounting import (
    BudgetExceededError,
    PrivacyAccountant,
    PrivacySpent,
    RenyiCost,
)
from secretballot.audit import epsilon_lower_bound
from secretballot.checks._expect import quietly, refused
from secretballot.checks._registry import MechanismExample, registered

_AUDIT_DRAWS = 40_000
_AUDIT_DELTA = 1e-2
_ROUNDING = 1 + 1e-9
_PLENTY = 1e9


def check_mechanism(example: MechanismExample) -> None:
    """Run all common checks on one mechanism.

    Parameters
    ----------
    example : MechanismExample
        The mechanism, counts to run it on, and neighbouring rows.

    Raises
    ------
    AssertionError
        Naming the promise that is broken.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax
    >>> from secretballot.checks import MechanismExample, check_mechanism
    >>> pair = np.array([[[3.0, 2.0]], [[2.0, 3.0]]])
    >>> check_mechanism(
    ...     MechanismExample(mechanism=GNMax(sigma=2), counts=pair[:, 0], neighbours=(pair,))
    ... )
    """
    for check in _CHECKS:
        check(example)


def mechanism_checks() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every registered mechanism and promise."""
    for example in registered().values():
        for check in _CHECKS:
            yield f"{example}-{check.__name__.removeprefix('check_')}", partial(check, example)


def check_is_an_immutable_description(example: MechanismExample) -> None:
    mechanism = example.mechanism
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}  # type: ignore[arg-type]
    assert type(mechanism)(**parameters) == mechanism, "parameters make the same mechanism again"
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism, "a pickle is the same mechanism"
    for name in parameters:
        try:
            setattr(mechanism, name, None)
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{name} can be changed after the mechanism was made")
    described = json.loads(json.dumps(mechanism.describe()))
    assert described["mechanism"] == type(mechanism).__name__, "describe() names the mechanism"
    assert set(parameters) <= set(described), "describe() tells every parameter"


def check_charges_no_more_than_its_most(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    outcome = _release(_plenty(), example, counts)
    n_columns = counts.shape[1]
    most, anywhere = mechanism.max_cost(n_columns), mechanism.max_cost()
    known = mechanism.max_cost(n_columns, counts)
    charged = mechanism.cost(outcome, n_columns=n_columns)
    charged_known = mechanism.cost(outcome, counts)
    for group, cost in charged.items():
        assert cost.shape == (len(counts),), "cost() is per row"
        assert _below(cost, most[group]), "no row costs more than max_cost()"
        assert _below(most[group], anywhere[group]), "max_cost() bounds any number of columns"
        assert _below(charged_known[group], known[group]), "known rows cost at most their most"
        finite = known[group].curve[:, :-1] <= most[group].curve[:-1] * _ROUNDING
        assert finite.all(), "no known row costs more than the worst case"


def check_cost_is_linear_in_the_count(example: MechanismExample) -> None:
    accountant, counts = _plenty(), mechanism_counts(example)
    repeated = np.concatenate([counts] * 3)
    outcome = _release(accountant, example, repeated)
    expected = RenyiCost.zero()
    for group, cost in example.mechanism.cost(outcome, n_columns=counts.shape[1]).items():
        assert group, "costs are keyed by group"
        together = cost.max() if example.mechanism.rows == "parallel" else cost.sum()
        expected = expected.parallel(together)
    _same_cost(_spent(accountant).cost, expected, "the ledger holds the cost of every row")
    _release(accountant, example, repeated)
    assert _spent(accountant).n_releases == 2, "every release is an entry"


def check_answers_only_what_was_paid_for(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5, relation=_relation(example))
    rows = np.concatenate([counts] * 500)
    most = max(float(c.at(accountant.levels[0].order)) for c in mechanism.max_cost().values())
    if most > accountant.levels[0].renyi or mechanism.rows == "parallel":
        return
    outcome = _release(accountant, example, rows)
    assert len(outcome) < len(rows), "a small budget ends the run"
    assert _spent(accountant).share <= 1, "no more than the budget is spent"
    assert _spent(accountant).n_rows == len(outcome), "what is returned is recorded, no more"


def check_refusal_changes_nothing(example: MechanismExample) -> None:
    accountant = PrivacyAccountant(1e-9, 1e-5, order=np.inf, relation=_relation(example))
    before = [entry.digest for entry in accountant.entries()]
    refused(
        (BudgetExceededError, ValueError),
        "a release beyond the budget is refused",
        *(accountant.release, example.mechanism, mechanism_counts(example)),
    )
    assert [entry.digest for entry in accountant.entries()] == before, "a refusal records nothing"


def check_relation_is_enforced(example: MechanismExample) -> None:
    for relation in {"replace", "add_remove"} - example.mechanism.relations:
        accountant = PrivacyAccountant(epsilon=_PLENTY, delta=1e-5, relation=relation)
        message = refused(
            ValueError,
            f"nothing is released under {relation!r}, for which nothing is proven",
            *(accountant.release, example.mechanism, mechanism_counts(example)),
        )
        assert relation in message, "the error names the relation"
        assert not accountant.entries(), "a refusal records nothing"


def check_copies_share_one_budget(example: MechanismExample) -> None:
    accountant, counts = _plenty(example), mechanism_counts(example)
    for handle in (clone(accountant), pickle.loads(pickle.dumps(accountant))):
        before = _spent(accountant).n_releases
        _release(handle, example, counts)
        assert _spent(accountant).n_releases == before + 1, "a copy spends from the same budget"


def check_ledger_replays_to_the_same_epsilon(example: MechanismExample) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.ledger"
        accountant = PrivacyAccountant(
            epsilon=_PLENTY, delta=1e-5, relation=_relation(example), ledger=path, allow_seeded=True
        )
        for _ in range(3):
            _release(accountant, example, mechanism_counts(example))
        again = PrivacyAccountant.open(path)
        assert _spent(again).epsilon == _spent(accountant).epsilon, "epsilon is replayed exactly"
        total = RenyiCost.zero()
        for entry in again.entries():
            total = total + max(entry.charges.values(), key=lambda cost: float(cost.at(2.0)))
        _same_cost(_spent(again).cost, total, "the entries add up to what is spent")


def check_audited_epsilon_is_below_the_claim(example: MechanismExample) -> None:
    for index, pair in enumerate(example.neighbours):
        claim = float(
            max(
                np.min(cost.epsilon(_AUDIT_DELTA))
                for cost in example.mechanism.max_cost(pair.shape[-1]).values()
            )
        )
        draws = [
            _release(_plenty(example), example, np.repeat(row, _AUDIT_DRAWS, axis=0), 2 * index + k)
            for k, row in enumerate(pair)
        ]
        proven = epsilon_lower_bound(*draws, _AUDIT_DELTA)
        assert proven <= claim, (
            f"outcomes on neighbours prove epsilon >= {proven:.3f} at delta={_AUDIT_DELTA:g}, "
            f"and one row claims {claim:.3f}"
        )


_CHECKS = (
    check_is_an_immutable_description,
    check_charges_no_more_than_its_most,
    check_cost_is_linear_in_the_count,
    check_answers_only_what_was_paid_for,
    check_refusal_changes_nothing,
    check_relation_is_enforced,
    check_copies_share_one_budget,
    check_ledger_replays_to_the_same_epsilon,
    check_audited_epsilon_is_below_the_claim,
)


def mechanism_counts(example: MechanismExample) -> Any:
    """Return the example's counts as the mechanism takes them."""
    return example.mechanism.check_counts(example.counts)


def _relation(example: MechanismExample) -> str:
    return min(example.mechanism.relations, key=["replace", "add_remove"].index)


def _plenty(example: MechanismExample | None = None) -> PrivacyAccountant:
    relation = _relation(example) if example else "replace"
    return PrivacyAccountant(
        epsilon=_PLENTY, delta=1e-5, relation=relation, approximation_delta=5e-6
    )


def _release(
    accountant: PrivacyAccountant, example: MechanismExample, counts: Any, seed: int = 0
) -> Any:
    return quietly(accountant.release, example.mechanism, counts, random_state=seed)


def _spent(accountant: PrivacyAccountant) -> PrivacySpent:
    spent = accountant.spent()
    assert isinstance(spent, PrivacySpent)
    return spent


def _below(cost: RenyiCost, most: RenyiCost) -> bool:
    return bool((cost.curve <= most.curve * _ROUNDING).all() and (cost.delta <= most.delta).all())


def _same_cost(one: RenyiCost, two: RenyiCost, promise: str) -> None:
    finite = slice(0, -1)
    assert np.allclose(one.curve[finite], two.curve[finite], rtol=1e-9, atol=0), promise
    assert np.isclose(one.delta, two.delta, rtol=1e-9, atol=0), promise
