"""Parties: sites with data, a model and a budget of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import quoted
from secretballot._base._tables import percent
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._label_model import label_probabilities
from secretballot.ensemble._target import dense_labels
from secretballot.ensemble._teacher_ballots import ballots
from secretballot.parties._home_model import Classifier, HomeModel
from secretballot.parties._motion import Motion
from secretballot.parties._question import Question, Table
from secretballot.parties._voter import VoteTally


class Party(HomeModel):
    """A site that keeps its data and its model, and votes on what others ask.

    It is trained at home, on its own rows. When another party asks, its model has one ballot. The
    most that this can cost its people is reserved on *its* accountant before the ballot leaves.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier, or multi-label classifier; it is cloned.
    name : str
        Its public name.
    accountant : PrivacyAccountant
        The budget of its people, with a ledger of its own. Neighbouring data differ in one of
        *its* rows (or owners), which can change its ballots in any way.
    classes : array-like, default=None
        The classes that rows may have: public, and the same for all parties.
    labels : sequence of str, default=None
        Instead of `classes`, the names of the labels that it knows, one for each column of `y`:
        public. It abstains on others. None: ``"0"``, ``"1"``, ...
    epsilon : float, default=None
        The most that one question may spend. None leaves it to the budget.
    random_state : int, RandomState or None, default=None
        Seeds the training of the model (no noise comes from here).

    See Also
    --------
    Collaboration : Lets parties ask each other.

    Notes
    -----
    A row with the wrong label, or one too many, must not silence a party, which others would see: a
    model that can't be trained votes by a public rule, and warns at home.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.parties import Party
    >>> X, y = make_blobs(60, centers=2, random_state=0)
    >>> accountant = PrivacyAccountant(epsilon=2, delta=1e-5)
    >>> Party(LogisticRegression(), name="north", accountant=accountant, classes=[0, 1]).fit(X, y)
    <Party 'north': 0.0% of epsilon=2 spent>
    """

    def __init__(
        self,
        estimator: Classifier,
        *,
        name: str,
        accountant: PrivacyAccountant,
        classes: ArrayLike | None = None,
        labels: Sequence[str] | None = None,
        epsilon: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r} must be a text by which the others know the party.")
        if not isinstance(accountant, PrivacyAccountant):
            raise TypeError(
                f"accountant={quoted(accountant)}: party {name!r} needs a budget of its own for "
                "its people; give a PrivacyAccountant."
            )
        if accountant.accounting == "data_dependent":
            raise ValueError(
                f"accountant of party {name!r} charges what the votes were (accounting="
                "'data_dependent'), and no party knows the votes of all; use the default."
            )
        if accountant.relation != "replace":
            raise ValueError(
                f"accountant of party {name!r} has relation={accountant.relation!r}: whoever joins "
                "or leaves turns the party's ballots into any others, which moves counts twice as "
                "far as a ballot more. Use PrivacyAccountant(..., relation='replace')."
            )
        super().__init__(estimator, classes, labels, random_state)
        accountant.scope(epsilon)  # checks epsilon
        self.name = name
        self.accountant = accountant
        self.epsilon = epsilon
        self._paid: dict[str, list[tuple[Motion, Reservation]]] = {}

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; ValueError if the rows are not of its kind."""
        self._matching(question.X, f"X, for party {self.name!r},")
        if (question.classes is None) != (self.classes is None) or (
            self.classes is not None and question.classes != self.classes
        ):
            raise ValueError(
                f"party {self.name!r} votes on {self.classes or self.labels}, and "
                f"{question.classes or question.labels} were asked."
            )
        if question.seeded and self.accountant.ledger and not self.accountant.allow_seeded:
            raise ValueError(
                "random_state makes the noise reproducible, which protects nobody, and is refused "
                f"on the named ledger {self.accountant.ledger!r} of party {self.name!r}."
            )
        return self.columns(question.labels)

    def has_paid(self, question: Question) -> bool:
        """Return True if it has paid for a question that was neither closed nor voided."""
        return question.id in self._paid

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Pay the most that the votes can cost, on its own ledger."""
        if self.has_paid(question):
            raise ValueError(f"party {self.name!r} has paid for question {question.id!r} before.")
        scope, paid = self.accountant.scope(self.epsilon), list[tuple[Motion, Reservation]]()
        note = {**_ledger_note(question), "question": question.id, "asked_by": question.asker}
        self._paid[question.id] = paid
        try:
            for motion in motions:
                reservation = self.accountant.reserve(
                    motion.mechanism,
                    motion.n_rows(question),
                    n_columns=motion.n_columns,
                    scope=scope,
                    note=note,
                )
                paid.append((motion, reservation))
        except BaseException:
            self.void(question)
            raise

    def cast(self, question: Question) -> list[NDArray[np.intp]]:
        """Return its ballots on each motion, whatever happens: silence would reveal something."""
        cast = []
        for motion, _ in self._paid[question.id]:
            model = self._model
            if question.labels is not None:
                model = _SomeLabels(model, [question.labels[at] for at in motion.columns], self)
            classes = motion.target(question).classes
            votes, failures = ballots(model, question.X, classes, self._rule, motion.counting)
            self._warn_failure(failures.first[1], "could not answer some of the rows")
            cast.append(votes)
        return cast

    def close(self, question: Question, tallies: Sequence[VoteTally]) -> None:
        """Record that the votes were opened, and take back the refund."""
        for (_, reservation), tally in zip(self._paid.pop(question.id), tallies, strict=True):
            self.accountant.record(
                reservation,
                tally.n_rows,
                n_answers=tally.n_answers,
                seeded=question.seeded,
                note=_ledger_note(question),
            )
            self.accountant.settle(reservation)

    def void(self, question: Question) -> None:
        """Take back its payment: nothing was opened, and nothing will be."""
        for _, reservation in self._paid.pop(question.id, []):
            self.accountant.settle(reservation)

    def __repr__(self) -> str:
        spent, epsilon = self.accountant._spent_or_none(), self.accountant.epsilon
        if spent is None or isinstance(epsilon, dict):
            return f"<Party {self.name!r}>"
        (total,) = spent.values()
        return f"<Party {self.name!r}: {percent(total.share)} of epsilon={epsilon:g} spent>"


class _SomeLabels:
    """A model of several labels that predicts some of them."""

    def __init__(self, model: Classifier, names: Sequence[str], party: Party) -> None:
        assert party.labels is not None
        self._model, self._n_labels = model, len(party.labels)
        self._columns = [party.labels.index(name) for name in names]

    def predict(self, X: Table) -> NDArray[Any]:
        """Predict 0 and 1 for each of them."""
        return dense_labels(self._model.predict(X))[:, self._columns]

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """Predict the probability of each of them."""
        return label_probabilities(self._model, X, self._n_labels)[:, self._columns]


def _ledger_note(question: Question) -> dict[str, object]:
    """Describe a vote for the accountant's statement."""
    return {"split_by": "party", "aggregator": question.aggregator, "classes_learned": False}
