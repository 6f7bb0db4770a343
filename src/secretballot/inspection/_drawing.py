"""What all displays need to draw."""

from __future__ import annotations

from secretballot._tables import visible


def pyplot(display):
    """Return matplotlib's interface, or say what to install for a display."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib; install secretballot[plot]."
        ) from error
    return plt


def label_text(name):
    """Return a name as matplotlib shows it: a dollar sign would begin a formula."""
    return visible(str(name)).replace("$", r"\$")
