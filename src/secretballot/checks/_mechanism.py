"""Common checks of mechanisms."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, fields

from secretballot.checks._contract import name_checks, run_checks
from secretballot.checks._mechanism_example import MechanismExample
from secretballot.checks._mechanism_noise import (
    check_charges_pass_the_filter,
    check_claim_survives_the_audit,
    check_draws_are_independent,
    check_draws_follow_the_stated_law,
    check_every_release_draws_afresh,
    check_gaussian_charges_cover_the_law,
)
from secretballot.checks._mechanism_release import (
    check_answers_only_what_was_paid_for,
    check_charges_no_more_than_its_most,
    check_copies_share_one_budget,
    check_cost_is_linear_in_the_count,
    check_every_row_is_charged_alone,
    check_ledger_replays_to_the_same_epsilon,
    check_refusal_changes_nothing,
    check_relation_is_enforced,
    check_returned_means_recorded,
    check_runs_end_predictably,
)


def check_mechanism(example: MechanismExample) -> dict[str, str]:
    """Run all common checks on one mechanism.

    Parameters
    ----------
    example : MechanismExample
        The mechanism, counts to run it on, and neighbouring rows.

    Returns
    -------
    dict of str to str
        Promises that do not apply to this mechanism, and the reasons.

    Raises
    ------
    AssertionError
        If a promise is broken, with its name.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax
    >>> from secretballot.checks import MechanismExample, check_mechanism
    >>> pair = np.array([[[3.0, 7.0]], [[2.0, 8.0]]])
    >>> check_mechanism(
    ...     MechanismExample(mechanism=GNMax(sigma=1.5), counts=pair[:, 0], neighbours=(pair,))
    ... )
    {}
    """
    return run_checks(_CHECKS, example)


def mechanism_checks(
    examples: Mapping[str, MechanismExample],
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every example and promise.

    A check that does not apply to a mechanism raises `NotApplicable`, which pytest and unittest
    report as a skip.

    Parameters
    ----------
    examples : mapping of str to MechanismExample
        By name.
    """
    return name_checks(_CHECKS, examples)


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
    name = described["mechanism"].rpartition(":")[2]
    assert name == type(mechanism).__qualname__, "describe() names the mechanism"
    assert set(parameters) <= set(described), "describe() tells every parameter"


_CHECKS = (
    check_is_an_immutable_description,
    check_charges_no_more_than_its_most,
    check_every_row_is_charged_alone,
    check_cost_is_linear_in_the_count,
    check_answers_only_what_was_paid_for,
    check_returned_means_recorded,
    check_runs_end_predictably,
    check_refusal_changes_nothing,
    check_relation_is_enforced,
    check_copies_share_one_budget,
    check_ledger_replays_to_the_same_epsilon,
    check_every_release_draws_afresh,
    check_draws_are_independent,
    check_draws_follow_the_stated_law,
    check_charges_pass_the_filter,
    check_gaussian_charges_cover_the_law,
    check_claim_survives_the_audit,
)
