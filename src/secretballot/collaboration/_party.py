"""A site with data, a model and a budget of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._tables import percent
from secretballot.accounting import PrivacyAccountant, Reservation
from secretballot.collaboration._home_model import HomeModel
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._voter import Tally
from secretballot.collaboration.secret_sharing import share_ballots
from secretballot.computing import Recipients, withdraw
from secretballot.ensemble import ballots, label_probabilities


class Party(HomeModel):
    """A site that keeps its data and its model, and votes on what others ask.

    It is trained at home, on its own rows. When another party asks, its model has one ballot; what
    that may cost its people is reserved on *its* accountant before the ballot leaves, and recorded
    there.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier, or multi-label classifier; it is cloned.
    name : str
        By which the others know it; public.
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
    `predict` and `predict_proba` are the model's, for use at home: what they return is as private
    as the rows are. A row with the wrong label, or one too many, must not silence a party, which
    others would see: a model that can't be trained votes by a public rule, and warns at home.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.collaboration import Party
    >>> X, y = make_blobs(60, centers=2, random_state=0)
    >>> accountant = PrivacyAccountant(epsilon=2, delta=1e-5)
    >>> Party(LogisticRegression(), name="north", accountant=accountant, classes=[0, 1]).fit(X, y)
    <Party 'north': 0.0% of epsilon=2 spent>
    """

    def __init__(
        self,
        estimator: Any,
        *,
        name: str,
        accountant: PrivacyAccountant,
        classes: Any = None,
        labels: Sequence[str] | None = None,
        epsilon: float | None = None,
        random_state: Any = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r} must be a text by which the others know the party.")
        if not isinstance(accountant, PrivacyAccountant):
            raise TypeError(
                f"accountant={accountant!r}: party {name!r} needs a budget of its own for its "
                "people; give a PrivacyAccountant."
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
        accountant.scope(epsilon)  # what is no epsilon is refused here
        self.name = name
        self.accountant = accountant
        self.epsilon = epsilon
        self._paid: dict[str, list[tuple[Motion, Reservation]]] = {}

    # From here on what a vote asks of it (`Voter`).

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on."""
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
        """Whether it has paid for a question that was neither closed nor voided.

        If its connection was lost, it may have been opened, and stays charged: whoever puts it
        again, to void it then, gets nothing back.
        """
        return question.id in self._paid

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Pay for what the votes may cost, on its own ledger."""
        if self.has_paid(question):
            raise ValueError(f"party {self.name!r} has paid for question {question.id!r} before.")
        scope, paid = self.accountant.scope(self.epsilon), list[tuple[Motion, Reservation]]()
        self._paid[question.id] = paid
        try:
            for motion in motions:
                reservation = self.accountant.reserve(
                    motion.mechanism,
                    motion.n_rows(question),
                    n_columns=motion.n_columns,
                    scope=scope,
                    note={
                        **_told(question),
                        "question": question.id,
                        "asked_by": question.asker,
                    },
                )
                paid.append((motion, reservation))
        except BaseException:
            self.void(question)
            raise

    def cast(self, question: Question) -> list[NDArray[Any]]:
        """Return its ballots on each motion, whatever happens: silence would tell something."""
        found = []
        for motion, _ in self._paid[question.id]:
            model = self._model
            if question.labels is not None:
                model = _SomeLabels(model, [question.labels[at] for at in motion.columns], self)
            target = motion.target(question)
            cast, failures = ballots(model, question.X, target.classes, self._rule, motion.counting)
            self._tell(failures, "could not answer some of the rows")
            found.append(cast)
        return found

    def deliver(self, question: Question, recipients: Recipients) -> None:
        """Share its ballots, with its part of the noise in them, among computing parties."""
        motions = [motion for motion, _ in self._paid[question.id]]
        share_ballots(self.name, motions, self.cast(question), recipients)

    def close(self, question: Question, tallies: Sequence[Tally]) -> None:
        """Record that the votes were opened, and take back what was not needed."""
        for (_, reservation), tally in zip(self._paid.pop(question.id), tallies, strict=True):
            self.accountant.record(
                reservation,
                tally.n_rows,
                n_answers=tally.n_answers,
                seeded=question.seeded,
                note=_told(question),
            )
            self.accountant.settle(reservation)

    def void(self, question: Question) -> None:
        """Take everything back: nothing was opened, and nothing will be."""
        for _, reservation in self._paid.pop(question.id, []):
            self.accountant.settle(reservation)

    def withdraw(self, question: Question, recipients: Recipients) -> None:
        """Take everything back if a computing party says the same; else it stays charged."""
        if withdraw(self.name, recipients):
            self.void(question)
        else:
            del self._paid[question.id]

    def __repr__(self) -> str:
        spent, epsilon = self.accountant._spent_or_none(), self.accountant.epsilon
        if spent is None or isinstance(epsilon, dict):
            return f"<Party {self.name!r}>"
        (one,) = spent.values()
        return f"<Party {self.name!r}: {percent(one.share)} of epsilon={epsilon:g} spent>"


class _SomeLabels:
    """A model of several labels that is asked about some of them."""

    def __init__(self, model: Any, names: Sequence[str], party: Party) -> None:
        assert party.labels is not None
        self._model, self._n_labels = model, len(party.labels)
        self._at = [party.labels.index(name) for name in names]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return 0 and 1 for each of them."""
        predicted = self._model.predict(X)
        table = predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)
        return np.asarray(table[:, self._at])

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each of them."""
        return label_probabilities(self._model, X, self._n_labels)[:, self._at]


def _told(question: Question) -> dict[str, Any]:
    """Return what the statement says of a vote."""
    return {"split_by": "party", "aggregator": question.aggregator, "classes_learned": False}
