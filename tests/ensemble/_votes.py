"""Votes of fitted teachers, which nobody but a test looks at."""

from secretballot.ensemble._target import as_target
from secretballot.ensemble._votes import GroupTally, ask


def collect_votes(teachers, X, classes, n_jobs, groups=None, counting=None):
    """Return the votes of all teachers by group; one group for None."""
    counting = counting or as_target(classes).counting
    return GroupTally(counting).add_up(ask(teachers, X, classes, counting, n_jobs, groups)).votes
