"""Run of a plan that was paid: the one way from a fit to the accountant's door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import CompletedInterrupt
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._release_plan import ReleasePlan
from secretballot.accounting._reservations import Reservation
from secretballot.ledger._budget import Scope
from secretballot.ledger._guard import HeldInterrupts

#: Function from the name of a release and the number of its rows drawn before to a seed, or None.
NoiseStreams = Callable[[str, int], np.random.SeedSequence | None]


class Run:
    """Releases of a plan that was paid, by name."""

    def __init__(
        self,
        accountant: PrivacyAccountant,
        plan: ReleasePlan,
        reservations: Mapping[str, Reservation],
        scope: Scope,
        note: Mapping[str, Any],
        noise: NoiseStreams,
    ) -> None:
        self.plan, self.scope = plan, scope
        self._accountant, self._reservations = accountant, reservations
        self._note, self._noise = note, noise
        self._n_drawn = Counter[str]()

    def release(self, name: str, counts: ArrayLike) -> NDArray[Any]:
        """Draw the next rows of a planned release."""
        planned = self.plan[name]
        n_before = self._n_drawn[name]
        self._n_drawn[name] += len(np.atleast_2d(counts))
        return self._accountant.release(
            planned.mechanism,
            counts,
            reservation=self._reservations[name],
            random_state=self._noise(name, n_before),
            scope=self.scope,
            note={**self._note, **planned.words},
        )


@contextmanager
def paid_run(
    accountant: PrivacyAccountant,
    plan: ReleasePlan,
    *,
    scope: Scope,
    note: Mapping[str, Any],
    noise: NoiseStreams,
) -> Iterator[Run]:
    """Pay for a plan; what was not drawn is refunded, whatever happens."""
    reservations: Mapping[str, Reservation] = {}
    try:
        try:
            reservations = accountant.reserve_plan(plan, scope, note)
        except CompletedInterrupt as interrupt:
            reservations = cast("dict[str, Reservation]", interrupt.answer)
            raise
        yield Run(accountant, plan, reservations, scope, note, noise)
    finally:
        with HeldInterrupts() as interrupts:
            interrupts.hold()
            for reservation in reservations.values():
                accountant.settle(reservation)
