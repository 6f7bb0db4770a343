"""One person's rows change no one else's features or predictions, in memory and in parts."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import PrivateChoice
from secretballot.mechanisms import BestOfCounts, NoisyCounts, VectorSum
from secretballot.tables import PrivateParts

N_OTHERS, N_COLUMNS = 700, 50
AXIS = np.random.default_rng(0).normal(size=N_COLUMNS)
COLUMNS = [f"x{j}" for j in range(N_COLUMNS)]


class Counted(PrivacyAccountant):
    """Keep what is given to the door, with its mechanism; answer as another run did, if given."""

    outcomes = ()

    def release(self, mechanism, counts, **options):
        self.seen = [*getattr(self, "seen", []), (mechanism, np.array(counts, dtype=float))]
        outcome = super().release(mechanism, counts, **options)
        if len(self.outcomes) >= len(self.seen):
            return self.outcomes[len(self.seen) - 1]
        self.outcomes = (*self.outcomes, outcome)
        return outcome


def table(n, seed=1):
    """Rows of float32 whose features round by the number of rows in a call."""
    rng = np.random.default_rng(seed)
    rows = 3000 + rng.normal(size=(n, N_COLUMNS)) + rng.normal(size=(n, 1)) * AXIS
    return pd.DataFrame(rows.astype(np.float32), columns=COLUMNS).assign(
        c=np.where(rng.random(n) < 0.5, "a", "b")
    )


POOL, OTHERS = table(300, seed=2), table(N_OTHERS, seed=3)
LABELS = (OTHERS["x0"] > 3000).astype(int).to_numpy()


def pipeline(n_components=2):
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, dtype=np.float32), ["c"]), remainder="passthrough"
    )
    return make_pipeline(encoder, PCA(n_components))


def people(n_first, at, broken=()):
    """A table whose owner 0 has some rows at a place; the other owners have one row each."""
    rows = pd.concat([OTHERS[:at], table(n_first, seed=4), OTHERS[at:]], ignore_index=True)
    for place in broken:
        rows.loc[place, "c"] = "unseen"
    y = np.concatenate([LABELS[:at], np.ones(n_first, int), LABELS[at:]])
    others = 1 + np.arange(N_OTHERS)
    owners = np.concatenate([others[:at], np.zeros(n_first, int), others[at:]])
    return rows, y, owners


NEIGHBOURS = {
    "one row": people(1, 0),
    "17 rows first": people(17, 0),
    "300 rows in the middle": people(300, 400),
    "a text that raises": people(1, 0, broken=[0]),
    "many texts that raise": people(40, 400, broken=[400, 405, 439]),
}
#: Some of them, for fits whose rows are called as in another fit.
BROKEN = ("one row", "17 rows first", "many texts that raise")


def changes(release, kind, names=tuple(NEIGHBOURS)):
    """Return the largest change of what is released over its sensitivity, among neighbours."""
    seen = {}
    for name in names:
        accountant = Counted(40.0, 1e-5, unit="owner")
        release(accountant, *NEIGHBOURS[name])
        seen[name] = [each for each in accountant.seen if isinstance(each[0], kind)]
    first = seen.pop("one row")
    assert first
    worst = 0.0
    for other in seen.values():
        mechanism, counts = first[0]
        distance = np.linalg.norm(other[0][1] - counts)
        worst = max(worst, distance / (mechanism.diameter if kind is VectorSum else 1.0))
    return worst


def fit(model, accountant, rows, y, owners):
    model.set_params(accountant=accountant, check_public_rows=False)
    model.fit(rows, y, X_public=PublicData(POOL), owners=owners)
    return model


@pytest.mark.filterwarnings("ignore:private rows go through")
@pytest.mark.parametrize(("rows_per_call", "names"), [("auto", tuple(NEIGHBOURS)), (8, BROKEN)])
def test_an_owner_moves_the_sums_of_a_fit_by_what_is_charged(rows_per_call, names):
    def release(accountant, rows, y, owners):
        features = pipeline()
        model = PrivateLogisticRegression(
            features, classes=[0, 1], rounds=0, epsilon=1.0, rows_per_call=rows_per_call
        )
        fit(model, accountant, rows, y, owners)

    assert 0 < changes(release, VectorSum, names) <= 1


@pytest.fixture(scope="module")
def worst_sums():
    """Sums of stock PCA of float32, of an owner with 1, 17 and 4,000 rows, and their mechanism.

    All others have the row whose features round most differently in another number of rows.
    """

    def rows_of(n, seed):
        return np.ascontiguousarray(table(n, seed)[COLUMNS])

    public, rows = rows_of(300, 2), rows_of(20_000, 3)
    pca = PCA(2).fit(public)
    errors = np.linalg.norm(pca.transform(rows)[:9_000] - pca.transform(rows[:9_000]), axis=1)
    others = np.repeat(rows[[errors.argmax()]], 9_990, axis=0)
    seen = []
    for n_first in (1, 17, 4_000):
        accountant = Counted(40.0, 1e-5, unit="owner")
        model = PrivateLogisticRegression(
            PCA(2),
            classes=[0, 1],
            rounds=0,
            epsilon=1.0,
            accountant=accountant,
            check_public_rows=False,
        )
        X = np.concatenate([rows_of(n_first, 4), others])
        owners = np.concatenate([np.zeros(n_first, int), 1 + np.arange(len(others))])
        model.fit(X, np.ones(len(X), int), X_public=PublicData(public), owners=owners)
        seen.append(accountant.seen[0])
    return seen


@pytest.mark.filterwarnings("ignore:private rows go through")
def test_an_owner_with_many_rows_moves_the_sums_of_pca_by_what_is_charged(worst_sums):
    mechanism, base = worst_sums[0]
    for _, sums in worst_sums[1:]:
        assert 0 < np.linalg.norm(sums - base) <= mechanism.diameter


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:private rows go through")
def test_the_audited_mu_of_pca_is_at_most_what_is_charged(worst_sums):
    """Real noise, and a mu that is refuted at 1e-6; planted: sums a third further than charged."""
    mechanism, base = worst_sums[0]
    claimed = mechanism.diameter / mechanism.sigma
    rng, n_draws, audited = np.random.default_rng(0), 200_000, []
    direction = (worst_sums[1][1] - base) / np.linalg.norm(worst_sums[1][1] - base)
    planted = base + 4 / 3 * mechanism.diameter * direction
    for sums in (*(each for _, each in worst_sums[1:]), planted):
        mine, other = (
            mechanism.sample(np.repeat(each, n_draws, axis=0), rng) @ direction.ravel()
            for each in (base, sums)
        )
        audited.append(audited_mu(mine, other))
    assert max(audited[:-1]) <= claimed < audited[-1]


def audited_mu(mine, other):
    lines = np.quantile(np.concatenate([mine, other]), np.linspace(0.02, 0.98, 25))
    slack = np.sqrt(np.log(2 * len(lines) / 1e-6) / (2 * len(mine)))
    low = np.clip([(other > line).mean() - slack for line in lines], 1e-9, 1 - 1e-9)
    high = np.clip([(mine > line).mean() + slack for line in lines], 1e-9, 1 - 1e-9)
    return float(np.max(norm.ppf(low) - norm.ppf(high)))


def test_an_owner_moves_the_sums_of_a_regression_by_what_is_charged():
    def release(accountant, rows, y, owners):
        model = PrivateLinearRegression(pipeline(), target_bounds=(0, 1), rounds=0, epsilon=1.0)
        fit(model, accountant, rows, y, owners)

    assert 0 < changes(release, VectorSum, BROKEN) <= 1


def test_parts_add_up_to_the_sums_in_memory(tmp_path):
    rows, y, owners = NEIGHBOURS["many texts that raise"]
    frame = rows.assign(y=y, owner=owners)
    for part, place in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[place].to_parquet(tmp_path / f"{part}.parquet")
    sums = []
    for given in (
        {"X": rows, "y": y, "owners": owners},
        {"X": PrivateParts.from_parquet(tmp_path, y="y", owners="owner")},
    ):
        accountant = Counted(40.0, 1e-5, unit="owner")
        PrivateLogisticRegression(
            pipeline(),
            columns=[*COLUMNS, "c"],
            classes=[0, 1],
            rounds=0,
            epsilon=1.0,
            accountant=accountant,
            check_public_rows=False,
        ).fit(X_public=PublicData(POOL), **given)
        sums.append(accountant.seen[0][1])
    assert np.array_equal(*sums)


# Scores ------------------------------------------------------------------------------------------


def border_rows(decision, rows):
    """Return each row moved to the border of two answers, where rounding decides."""
    numbers = rows[COLUMNS].to_numpy(np.float64)
    low, high = numbers - 1.5 * AXIS, numbers + 1.5 * AXIS
    rising = decision(rows.assign(**dict(zip(COLUMNS, high.T, strict=True)))) > 0
    for _ in range(60):
        middle = (low + high) / 2
        above = decision(rows.assign(**dict(zip(COLUMNS, middle.T, strict=True)))) > 0
        low = np.where((above == rising)[:, None], low, middle)
        high = np.where((above == rising)[:, None], middle, high)
    return rows.assign(**dict(zip(COLUMNS, high.T, strict=True)))


@pytest.mark.filterwarnings("ignore:most numbers of X are out of the range")
@pytest.mark.parametrize("features", ["linear", "kernel", "pipeline"])
def test_an_owner_moves_a_linear_models_score_by_one(features):
    rng = np.random.default_rng(5)
    pool = PublicData(POOL.astype(dict.fromkeys(COLUMNS, np.float64)))
    model = PrivateLogisticRegression(
        pipeline() if features == "pipeline" else features,
        classes=[0, 1],
        accountant=Counted(50.0, 1e-5, unit="owner"),
        epsilon=20.0,
        check_public_rows=False,
    )
    owners = np.arange(N_OTHERS)
    model.fit(
        OTHERS.astype(dict.fromkeys(COLUMNS, np.float64)), LABELS, X_public=pool, owners=owners
    )
    rows = border_rows(model.decision_function, OTHERS)
    truth = model.predict(rows)
    counted = []
    for n_first in (1, 7, 300):
        extra = rows.iloc[rng.integers(N_OTHERS, size=n_first)]
        ids = np.concatenate([np.full(n_first, -1), owners])
        model.score_private(
            pd.concat([extra, rows], ignore_index=True),
            np.concatenate([np.ones(n_first, int), truth]),
            owners=ids,
            sigma=30.0,
        )
        counted.append(model.accountant.seen[-1][1].item())
    assert np.ptp(counted) <= 1


@pytest.mark.filterwarnings("ignore:private rows go through")
def test_an_owner_moves_a_students_score_by_one():
    accountant = Counted(80.0, 1e-5, unit="owner")
    ensemble = PrivateTeacherEnsemble(
        make_pipeline(pipeline(), LogisticRegression()),
        n_teachers=10,
        student=make_pipeline(pipeline(5), LogisticRegression()),
        classes=[0, 1],
        accountant=accountant,
        epsilon=40.0,
        check_public_rows=False,
    )
    owners = np.arange(N_OTHERS)
    ensemble.fit(OTHERS, LABELS, X_public=POOL[:60], owners=owners)
    rows = border_rows(ensemble.student_.decision_function, OTHERS)
    truth = ensemble.predict(rows)
    for release, width in ((ensemble.score_private, 1), (ensemble.confusion_private, 2)):
        counted = []
        for n_first in (1, 7, 300):
            extra = pd.concat([rows.iloc[:n_first], rows], ignore_index=True)
            labels = np.concatenate([truth[:n_first] * 0, truth])
            ids = np.concatenate([np.full(n_first, -1), owners])
            release(extra, labels, owners=ids, sigma=30.0)
            mechanism, counts = accountant.seen[-1]
            assert isinstance(mechanism, NoisyCounts)
            counted.append(counts.ravel())
        assert np.abs(np.diff(counted, axis=0)).sum(axis=1).max() <= width
    notes = [json.loads(entry.note) for entry in accountant.entries()][-2:]
    assert all(note["rows_per_call"] in (1, 8, 256) for note in notes)


@pytest.mark.filterwarnings(
    "ignore:private rows go through", "ignore:Noise drawn with random_state"
)
def test_an_owner_moves_the_counts_of_a_choice_by_one():
    def release(accountant, rows, y, owners):
        students = [make_pipeline(pipeline(k), LogisticRegression()) for k in (2, 5)]
        PrivateTeacherEnsemble(
            make_pipeline(pipeline(), LogisticRegression()),
            n_teachers=5,
            student=PrivateChoice(students),
            classes=[0, 1],
            accountant=accountant,
            random_state=0,
            check_public_rows=False,
        ).fit(rows.replace({"c": {"unseen": "a"}}), y, X_public=POOL[:40], owners=owners)

    seen, outcomes = {}, ()
    for name in ("one row", "17 rows first"):
        rows, y, owners = NEIGHBOURS[name]
        accountant = Counted(200.0, 1e-5, unit="owner", allow_seeded=True)
        accountant.outcomes = outcomes
        release(accountant, rows, y, owners)
        outcomes = accountant.outcomes
        seen[name] = next(c for m, c in accountant.seen if isinstance(m, BestOfCounts))
    assert np.abs(np.subtract(*seen.values())).max() <= 1
    notes = [json.loads(entry.note) for entry in accountant.entries()]
    (numbers,) = [note["rows_per_call"] for note in notes if "rows_per_call" in note]
    assert len(numbers) == 2
    assert set(numbers) <= {1, 8, 256}


# The parameter -----------------------------------------------------------------------------------


class LittleOfTheBatch(TransformerMixin, BaseEstimator):
    """Transformer that adds a little of the batch's largest number: the early check allows it."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        X = np.asarray(X[COLUMNS[:3]], dtype=np.float64) - 3000
        return X + 1e-7 * X.max()


def test_a_transformer_that_looks_at_its_batch_a_little_has_one_row_a_call():
    def release(accountant, rows, y, owners):
        kept = owners <= 280
        rows, y, owners = rows[kept].reset_index(drop=True), y[kept], owners[kept]
        rows.loc[owners == 0, COLUMNS] = 3e30
        model = PrivateLogisticRegression(LittleOfTheBatch(), classes=[0, 1], rounds=0, epsilon=1.0)
        with pytest.warns(UserWarning, match=r"LittleOfTheBatch.transform 1 row a call.* seconds"):
            fit(model, accountant, rows, y, owners)
        asked = {**model.get_params(), "rows_per_call": 256}
        with pytest.raises(ValueError, match="rows_per_call=256: in calls of so many rows"):
            fit(PrivateLogisticRegression(**asked), accountant, rows, y, owners)

    assert changes(release, VectorSum, ("one row", "17 rows first")) <= 1


def test_another_number_of_rows_is_refused_before_anything_is_spent():
    accountant, wrong = PrivacyAccountant(80.0, 1e-5), (7, True, "all", None)
    options = {"classes": [0, 1], "accountant": accountant}
    numbers, pool = OTHERS[COLUMNS], PublicData(POOL[COLUMNS])
    for rows_per_call in wrong:
        model = PrivateLogisticRegression(PCA(2), rows_per_call=rows_per_call, **options)
        with pytest.raises(ValueError, match="rows_per_call"):
            model.fit(numbers, LABELS, X_public=pool)
        choice = PrivateChoice([LogisticRegression()], rows_per_call=rows_per_call)
        ensemble = PrivateTeacherEnsemble(LogisticRegression(), 5, student=choice, **options)
        with pytest.raises(ValueError, match="rows_per_call"):
            ensemble.fit(numbers, LABELS, X_public=pool)
    assert accountant.entries() == []
    model.set_params(rows_per_call="auto", epsilon=5.0).fit(numbers, LABELS, X_public=pool)
    n_entries = len(accountant.entries())
    for rows_per_call in wrong:
        with pytest.raises(ValueError, match="rows_per_call"):
            model.score_private(numbers, LABELS, rows_per_call=rows_per_call, share=0.05)
    assert len(accountant.entries()) == n_entries
