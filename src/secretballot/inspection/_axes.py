"""Axes, colours and texts of displays."""

from __future__ import annotations

from secretballot._tables import visible

#: Text above a picture that depends on the votes.
CAUTION = "data dependent: itself sensitive"


def pyplot(display):
    """Import matplotlib's interface; ImportError names the extra that installs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib; install secretballot[plot]."
        ) from error
    return plt


def axes_of(display, ax, **figure):
    """Set and return the axes of a display, new ones if None."""
    plt = pyplot(display)
    if ax is None:
        _, ax = plt.subplots(layout="constrained", **figure)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def ink(ax):
    """Return the colour of an axes' text, which is visible on light and dark backgrounds."""
    return ax.xaxis.label.get_color()


def plain_logarithms(axis):
    """Write plain numbers on a logarithmic axis: 0.5, 20, 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def label_text(name):
    """Escape a name for matplotlib, where a dollar sign begins a formula."""
    return visible(str(name)).replace("$", r"\$")


def depends_on_votes(estimator):
    """Check for noise that was calibrated to the rest of a data-dependent budget."""
    accountant = estimator.accountant
    return (
        estimator.mechanism is None
        and accountant is not None
        and accountant.accounting == "data_dependent"
    )


def caution(ax):
    """Write above a picture that it depends on the votes."""
    title = ax.get_title()
    ax.set_title((f"{title}\n" if title else "") + CAUTION, fontsize="small")


# Not a lambda: figures are pickled with their formatters.
def _plain(value, position):
    return f"{value:,.10g}"
