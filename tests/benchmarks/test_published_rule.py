"""The published calibration of the Dirichlet mechanism, for comparison."""

from benchmarks.proportions.published_rule import calibrate_by_published_rule

from secretballot.accounting import EVERYONE
from secretballot.mechanisms import DirichletProportions


def test_the_published_rule_uses_private_counts():
    paper = calibrate_by_published_rule(0.05, 0.05, [[50, 50, 50, 50, 800]])
    neighbour = calibrate_by_published_rule(0.05, 0.05, [[49, 51, 50, 50, 800]])
    assert paper.concentration != neighbour.concentration  # the amount of noise alone tells
    assert paper.min_count == 49
    # Sound for those counts, but loose.
    assert paper.max_cost(5)[EVERYONE].delta < 0.05
    exact = DirichletProportions.calibrated(0.05, 0.05, min_count=50)
    assert exact.concentration > 10 * paper.concentration
