"""Streams that are keyed by their use."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from secretballot.ensemble import PrivateLabels
from secretballot.ensemble._teachers import Shard, train_teacher
from secretballot.ensemble.student import fit_student
from secretballot.tables._randomness import Randomness

X, Y = np.arange(20.0)[:, None], np.arange(20) % 2


def draw(stream):
    return tuple(stream.generate_state(4).tolist())


def test_each_use_has_a_separate_stream():
    randomness = Randomness.from_seed(0)
    streams = [randomness.partition(), randomness.student()]
    streams += [randomness.teacher(index) for index in range(5)]
    streams += [randomness.noise(count) for count in range(5)]
    assert len({draw(stream) for stream in streams}) == len(streams)
    assert draw(Randomness.from_seed(0).teacher(3)) == draw(randomness.teacher(3))


def test_without_a_seed_the_noise_is_cryptographic():
    randomness = Randomness.from_seed(None)
    assert randomness.noise(0) is None
    assert randomness.entropy != Randomness.from_seed(None).entropy


def test_a_random_state_advances():
    state = np.random.RandomState(0)
    assert Randomness.from_seed(state).entropy != Randomness.from_seed(state).entropy
    assert Randomness.from_seed(np.int64(5)) == Randomness.from_seed(5)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=7),
        make_pipeline(BaggingClassifier(DecisionTreeClassifier())),
    ],
)
def test_nested_seeds_are_set(estimator):
    shard = Shard(0, "*", X, Y, Randomness.from_seed(0).teacher(0))
    parameters = train_teacher(estimator, shard, np.array([0, 1])).get_params(deep=True)
    seeds = [value for name, value in parameters.items() if name.endswith("random_state")]
    assert all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds)
    assert len(set(seeds)) == len(seeds)


def test_seeds_that_are_set_can_be_kept():
    pipeline = make_pipeline(LogisticRegression(random_state=7))
    labels = PrivateLabels(Y, np.ones(20, dtype=bool))
    student = fit_student(pipeline, X, labels, np.array([0, 1]), "drop", Randomness.from_seed(0))
    assert student[0].random_state == 7
