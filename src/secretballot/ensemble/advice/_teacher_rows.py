"""Least numbers of private rows, or owners, of a teacher."""

from __future__ import annotations

from secretballot.ensemble.individual import Assignment

#: Least rows of a teacher whose labels are released: with fewer it learns next to nothing.
_LEAST_ROWS = 10
#: The same for each class.
_LEAST_PER_CLASS = 1
#: Least rows of a teacher where the number of teachers is chosen.
_CHOSEN_ROWS = 20
#: The same for each class.
_CHOSEN_PER_CLASS = 3


def least_rows(n_classes: int) -> int:
    """Return the least number of rows of a teacher whose labels are released."""
    return max(_LEAST_ROWS, _LEAST_PER_CLASS * n_classes)


def chosen_rows(n_classes: int) -> int:
    """Return the least number of rows of a teacher where the number of teachers is chosen."""
    return max(_CHOSEN_ROWS, _CHOSEN_PER_CLASS * n_classes)


def too_few_rows(assignment: Assignment, n_people: int | None, n_classes: int) -> str:
    """Describe why labels of teachers with so few rows are not released; "" if they are.

    `n_people` is None for parties, who keep their number to themselves.
    """
    least = least_rows(n_classes)
    if n_people is None or assignment.rows_per_teacher(n_people) >= least:
        return ""
    most = n_people // least
    fewer = f"n_teachers of at most {most:,} (None chooses), " if most else ""
    return (
        f"n_teachers={assignment.n_teachers:,} for {n_people:,} rows (or owners) leaves some "
        f"teachers {assignment.rows_per_teacher(n_people):,} of them, and labels of teachers with "
        f"fewer than {least} are not released: they learn next to nothing of {n_classes} classes. "
        f"Nothing was released or spent. Use {fewer}more rows, or PrivateLogisticRegression, which "
        "has no teachers (mechanism= insists on these)."
    )
