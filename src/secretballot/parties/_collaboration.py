"""Parties that ask each other, and learn from what is released."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from secretballot._base._errors import PrivacyLeakWarning, warn
from secretballot._base._numbers import check_integer, check_number, quoted
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot._base._view import percent, text_table
from secretballot.accounting._answers import epsilon_factor
from secretballot.accounting._calibration import noise_builder
from secretballot.accounting._protocol import RandomState, is_seeded
from secretballot.accounting._report import PrivacySpent
from secretballot.ensemble._mechanism_choice import check_votes_on
from secretballot.ensemble._public_rows import as_rows
from secretballot.ensemble.advice import check_noise
from secretballot.mechanisms._base import Mechanism
from secretballot.parties._aggregator import TrustedAggregator, Voters
from secretballot.parties._agreement import Agreement, shown_names
from secretballot.parties._party import Party
from secretballot.parties._question import (
    BallotAssignment,
    Question,
    Table,
    drawn_centrally,
    for_columns,
    for_voters,
    group_columns,
    noise_scale,
    rows_digest,
    votes_apart,
)
from secretballot.parties._vote import Answer, hold_vote

#: One asks, and two answer.
_FEWEST = 3


class Collaboration:
    """Parties that keep their data and models, and ask each other for labels.

    A party asks about rows of its own that have no labels. All others vote. The most that their
    ballots can cost is reserved on each party's ledger before any is cast, and the asker sees noisy
    winners only. Then it learns from them.

    Parameters
    ----------
    parties : sequence of Party
        Fitted parties, at least three: one asks and others answer.
    aggregator : TrustedAggregator, default=None
        Counts ballots and draws the noise; None: a new one.

    Attributes
    ----------
    parties : dict of str to Party
        By name.
    classes : tuple or None
        All classes, where a row has one.
    labels : tuple of str or None
        The labels that any party knows, where a row has several.

    See Also
    --------
    PrivateTeacherEnsemble : One budget and one table, split among teachers.

    Notes
    -----
    *Rows that are asked about are shown to all who answer.* No budget protects them. They must not
    be chosen by looking at labels that only the asker has, such as those that its model gets wrong.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Section 6.6,
    after Choquette-Choo et al., "CaPC Learning" (ICLR 2021), whose encrypted queries are not built
    here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot import GNMax, PrivacyAccountant
    >>> from secretballot.parties import Collaboration, Party
    >>> X, y = make_blobs(1_000, centers=2, random_state=0)
    >>> parties = [
    ...     Party(
    ...         LogisticRegression(),
    ...         name=f"site {i}",
    ...         accountant=PrivacyAccountant(epsilon=4, delta=1e-5),
    ...         classes=[0, 1],
    ...     ).fit(X[i::12], y[i::12])
    ...     for i in range(11)
    ... ]
    >>> together = Collaboration(parties)
    >>> agreement = together.agree(GNMax, n_rows=20)
    >>> asked = X[11::12][:20]
    >>> answer = together.ask("site 0", asked, agreement)
    >>> answer
    <Answer: 20 of 20 rows answered by 10 voters>
    >>> parties[0].learn(asked, answer)
    <Party 'site 0': 0.0% of epsilon=4 spent>
    """

    def __init__(
        self, parties: Sequence[Party], *, aggregator: TrustedAggregator | None = None
    ) -> None:
        self.parties = _checked_parties(parties)
        self.aggregator = TrustedAggregator() if aggregator is None else aggregator
        self.classes = next(iter(self.parties.values())).classes
        self.labels: tuple[str, ...] | None = None
        if self.classes is None:
            names = (name for party in parties for name in party.labels or ())
            self.labels = tuple(dict.fromkeys(names))
        self._one_at_a_time = threading.Lock()

    def agree(
        self,
        make: type[Mechanism] | Callable[[float], Mechanism],
        n_rows: int,
        *,
        share: float = 1.0,
        weighted: bool = False,
        min_voters: int = 2,
    ) -> Agreement:
        """Calibrate the vote with the least noise that all budgets allow; nothing is spent.

        Parameters
        ----------
        make : type or callable
            A mechanism with the field `sigma`, or a function from the amount of noise to one.
        n_rows : int
            Rows that a party will vote on: all that the others together ask about. In several
            questions they cost a little more than in one, so leave some budget (`share`).
        share : float, default=1.0
            The part of each remaining budget that they may take.
        weighted : bool, default=False
            True: ballots of parties with larger budgets count more, so that all budgets are used up
            together. False: the smallest budget decides for all.
        min_voters : int, default=2
            A question that fewer parties can vote on is refused, and so is a label that fewer know.

        Returns
        -------
        Agreement

        Raises
        ------
        BudgetExceededError
            If some budget has next to nothing left, or the noise would drown even unanimous votes
            of all others. (An `Agreement` that is built directly is warned of by `ask`.)
        """
        check_integer("n_rows", n_rows)
        check_number("share", share, above=0, most=1)
        check_integer("min_voters", min_voters, least=2)
        if min_voters >= len(self.parties):
            raise ValueError(
                f"min_voters={min_voters} are too many: there are {len(self.parties)} parties, and "
                f"one asks; take {len(self.parties) - 1} or fewer, or find more parties."
            )
        _check_make(make)
        columns = {name: party.columns(self.labels) for name, party in self.parties.items()}
        groups = [(names, len(labels)) for names, labels in group_columns(columns).items()]
        build = noise_builder(make)
        is_apart = votes_apart(build(1.0), self.labels)
        # Parties with equal budgets need the same mechanism.
        calibrated: dict[tuple[object, ...], Mechanism] = {}
        mechanisms: dict[str, Mechanism] = {}
        for name, party in self.parties.items():
            budget = party.accountant
            # Groups of labels are votes of their own, which are paid for one by one.
            votes = [n for names, n in groups if name in names and len(names) >= min_voters]
            candidates = list[Mechanism]()
            for n_labels in votes:
                rows, wide = (n_rows * n_labels, 2) if is_apart else (n_rows, n_labels)
                part = share * n_labels / sum(votes)
                key = budget.levels, budget.unit, repr(budget.remaining()), rows, wide, part
                if key not in calibrated:
                    calibrated[key] = budget.calibrate(make, rows, n_columns=wide, share=part)
                candidates.append(calibrated[key])
            if candidates:
                mechanisms[name] = max(candidates, key=noise_scale)
        if not mechanisms:
            raise ValueError(f"no label is known to min_voters={min_voters} parties.")
        names, weights = tuple(self.parties), dict[str, float]()
        mechanism = max(mechanisms.values(), key=noise_scale)
        if weighted:
            if votes_apart(mechanism, ()):
                raise ValueError(
                    "weighted=True makes weights that are no whole numbers, and SkellamMax counts "
                    "whole ones; take GNMax, or give whole weights to "
                    "Agreement(mechanism=..., weights=...)."
                )
            # A ballot of weight w beside noise s costs what one of weight 1 does beside s / w.
            noise = {name: noise_scale(mechanism) for name, mechanism in mechanisms.items()}
            sigma = len(noise) / sum(1 / scale for scale in noise.values())
            weights = {name: sigma / scale for name, scale in noise.items()}
            mechanism = build(sigma)
        agreement = Agreement(
            mechanism=mechanism, parties=names, weights=weights, min_voters=min_voters
        )
        poorest = max(mechanisms, key=lambda name: noise_scale(mechanisms[name]))
        for names, group in group_columns(columns).items():
            if len(names) >= min_voters:
                self._check_noise(agreement, build, names, group, n_rows, poorest)
        return agreement

    def _check_noise(
        self,
        agreement: Agreement,
        build: Callable[[float], Mechanism],
        names: Sequence[str],
        group: Sequence[int],
        n_rows: int,
        poorest: str,
    ) -> None:
        """Refuse noise that would drown even unanimous votes on a group of labels.

        `names` know these labels, and the party `poorest` has the smallest budget.
        """
        # All vote but the heaviest, who asks.
        n_voters = max(len(names) - 1, agreement.min_voters)
        lightest = sorted(names, key=agreement.weight)[:n_voters]
        assignment = BallotAssignment.of({name: agreement.weight(name) for name in lightest})
        is_apart = votes_apart(agreement.mechanism, self.labels)
        n_labels = len(self.classes or self.labels or ())
        accountant = self.parties[poorest].accountant

        def vote(noise: float) -> Mechanism:
            central = drawn_centrally(build(noise))
            mechanism = for_voters(central, assignment.n_equal, assignment.n_teachers)
            return mechanism if is_apart else for_columns(mechanism, group, n_labels)

        check_noise(
            vote,
            noise_scale(agreement.mechanism),
            assignment,
            2 if is_apart else len(group),
            n_rows,
            learns=False,
            voters="voters",
            epsilon_factor=partial(epsilon_factor, accountant, accountant.scope()),
        )

    def ask(
        self, asker: str | None, X: Table, agreement: Agreement, *, random_state: RandomState = None
    ) -> Answer:
        """Ask all other parties for labels; each is charged for its own ballots.

        Parameters
        ----------
        asker : str or None
            The party that asks, and has no ballot; None: the rows are nobody's.
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Rows to be labelled. All who answer see them.
        agreement : Agreement
            From `agree`, or built directly.
        random_state : int, SeedSequence or None, default=None
            None: a cryptographic generator. Anything else is reproducible noise, for tests, and
            warns.

        Returns
        -------
        Answer

        Raises
        ------
        VoteRefusedError
            If fewer than `min_voters` of the agreement can vote, or a vote failed.
        ValueError
            If a party did not agree, or rows don't have the columns of a party's own. Nothing was
            spent.
        """
        self._check_asked(asker, X, agreement)
        question = Question(
            id=uuid.uuid4().hex,
            asker=asker,
            X=X,
            classes=self.classes,
            labels=self.labels,
            seeded=is_seeded(random_state),
            aggregator=self.aggregator.trust,
        )
        if not votes_apart(agreement.mechanism, question.labels):
            check_votes_on(agreement.mechanism, question.target)
        if random_state is not None:
            warn(
                "Noise drawn with random_state is reproducible and protects nobody: it is for "
                "tests; leave random_state=None to protect.",
                PrivacyLeakWarning,
            )
        voters = Voters({name: party for name, party in self.parties.items() if name != asker})
        with self._one_at_a_time:
            answer = hold_vote(question, agreement, voters, self.aggregator, random_state)
        digest = rows_digest(as_rows(X, "X"))
        for party in self.parties.values():
            party.remember(answer.id, digest)
        return answer

    def learn(
        self, pools: Mapping[str, Table], agreement: Agreement, *, rounds: int = 1
    ) -> dict[str, list[Answer]]:
        """Let parties ask about their pools in turn, and learn from the answers.

        Parameters
        ----------
        pools : dict of str to table
            Unlabelled rows of each party that asks.
        agreement : Agreement
        rounds : int, default=1
            Number of parts of each pool. A party that learned in one round votes with a better
            model in the next.

        Returns
        -------
        dict of str to list of Answer
            The answers of each party, round by round.
        """
        check_integer("rounds", rounds)
        if not isinstance(pools, Mapping):
            raise TypeError(
                f"pools={quoted(pools)} must be a dict, of the rows of each party that asks: "
                f"{{{next(iter(self.parties))!r}: X}}."
            )
        for name, X in pools.items():  # before the first of them spends anything
            self._check_asked(name, X, agreement)
            if _num_samples(X) < rounds:
                raise ValueError(
                    f"pools[{name!r}] has {_num_samples(X)} rows for rounds={rounds}; one a round "
                    "is the least."
                )
        answers: dict[str, list[Answer]] = {name: [] for name in pools}
        for turn in range(rounds):
            parts = {
                name: _safe_indexing(X, np.array_split(np.arange(_num_samples(X)), rounds)[turn])
                for name, X in pools.items()
            }
            try:
                for name, part in parts.items():
                    answers[name].append(self.ask(name, part, agreement))
            finally:
                # Parties learn from the answers that were paid, even if a later vote fails.
                for name, part in parts.items():
                    if len(answers[name]) > turn:
                        self.parties[name].learn(part, answers[name][turn])
        return answers

    def spent(self) -> dict[str, PrivacySpent | dict[str, PrivacySpent]]:
        """Return the privacy that each party's people have spent."""
        return {name: party.accountant.spent() for name, party in self.parties.items()}

    def report(self) -> str:
        """Format the parties' budgets and spending as a table."""
        cells = []
        for name, spent in self.spent().items():
            budget = self.parties[name].accountant.epsilon
            levels = {"": spent} if isinstance(spent, PrivacySpent) else spent
            for level, total in levels.items():
                epsilon = budget[level] if isinstance(budget, dict) else budget
                payer = f"{name}, {level}" if level else name
                cells.append([payer, f"{epsilon:g}", percent(total.share), f"{total.n_rows:,}"])
        return text_table(["party", "epsilon", "share spent", "votes cast on rows"], cells)

    def _check_asked(self, asker: str | None, X: Table, agreement: Agreement) -> None:
        if asker is not None and not isinstance(asker, str):
            raise TypeError(
                f"asker={quoted(asker)} must be the name of a party, or None: "
                "ask(asker, X, agreement)."
            )
        if asker is not None and asker not in self.parties:
            raise ValueError(f"asker={asker!r} is none of the parties {list(self.parties)!r}.")
        if not isinstance(agreement, Agreement):
            raise TypeError(
                f"agreement={quoted(agreement)} must come from agree(), or be an Agreement: "
                "ask(asker, X, agreement)."
            )
        strangers = [name for name in self.parties if name not in agreement.parties]
        if strangers:
            raise ValueError(
                f"agreement names the parties {list(agreement.parties)!r}, and {strangers!r} are "
                "none of them; name all who may vote."
            )
        if _num_samples(as_rows(X, "X")) == 0:
            raise ValueError("X has 0 rows; ask about at least one.")
        if asker is not None:
            self.parties[asker].check_own_question(X)

    def __repr__(self) -> str:
        n, unit = len(self.classes or self.labels or ()), "classes" if self.classes else "labels"
        return f"<Collaboration: {len(self.parties)} parties vote on {n} {unit}>"


def _check_make(make: object) -> None:
    """Refuse what is neither a class of mechanisms nor a function."""
    if isinstance(make, Mechanism):
        raise TypeError(
            f"make={make!r} is a mechanism, whose noise is fixed. Pass its class, such as "
            f"{type(make).__name__}, which gets the least noise; or build "
            "Agreement(mechanism=...) directly."
        )
    if not callable(make) or (isinstance(make, type) and not issubclass(make, Mechanism)):
        raise TypeError(
            f"make={quoted(make)} is no mechanism. Pass the class itself, such as GNMax (import it "
            "from secretballot), or a function from the amount of noise to a mechanism: "
            "lambda sigma: BinaryVoting(sigma=sigma, n_votes=10)."
        )


def _checked_parties(parties: Sequence[Party]) -> dict[str, Party]:
    if not isinstance(parties, Iterable):
        raise TypeError(
            f"parties={parties!r} must be a list of fitted parties, {_FEWEST} or more of them."
        )
    parties = list(parties)
    for party in parties:
        if not isinstance(party, Party):
            raise TypeError(f"parties: {party!r} is no Party.")
        party._check_fitted()
    if len(parties) < _FEWEST:
        raise ValueError(
            f"{len(parties)} parties: one asks and at least two others answer; fewer ballots would "
            "be known."
        )
    by_name = {party.name: party for party in parties}
    if len(by_name) < len(parties):
        raise ValueError(f"parties: names must differ, {[p.name for p in parties]!r} don't.")
    if any(party.classes != parties[0].classes for party in parties):
        raise ValueError("parties: all must vote on the same classes, or all on labels.")
    _check_widths(by_name)
    for first, second in itertools.combinations(parties, 2):
        _check_separate(first, second)
    return by_name


def _check_widths(parties: Mapping[str, Party]) -> None:
    """Refuse parties whose rows have different numbers of columns: no question suits them all."""
    names = dict[int, list[str]]()
    for name, party in parties.items():
        if party.n_columns is not None:
            names.setdefault(party.n_columns, []).append(name)
    if len(names) > 1:
        groups = "; ".join(f"{width} of {shown_names(names[width], 3)}" for width in sorted(names))
        raise ValueError(
            f"parties: rows differ in the number of columns: {groups}. All vote on the rows of one "
            "question: fit them on the same columns."
        )


def _check_separate(first: Party, second: Party) -> None:
    """Refuse two parties that would have two ballots for the same data."""
    names = f"parties {first.name!r} and {second.name!r}"
    if first.accountant.same_ledger(second.accountant):
        raise ValueError(
            f"{names} have one ledger. A person with data at both would move two ballots of one "
            "vote, which costs more than two votes; each needs a budget of its own."
        )
    if first.shares_data_with(second):
        raise ValueError(f"{names} have the same model or rows: their two ballots would be one.")
