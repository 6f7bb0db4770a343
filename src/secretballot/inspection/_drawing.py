"""What all displays need to draw."""

from __future__ import annotations

from secretballot._tables import visible

#: What is written over a picture that is not to be published.
CAUTION = "data dependent: itself sensitive"


def pyplot(display):
    """Return matplotlib's interface, or say what to install for a display."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} draws with matplotlib; install secretballot[plot]."
        ) from error
    return plt


def axes_of(display, ax, **figure):
    """Return the axes that a display draws on, its own if None, and let it keep them."""
    plt = pyplot(display)
    if ax is None:
        _, ax = plt.subplots(layout="constrained", **figure)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def ink(ax):
    """Return the colour of an axes' text: lines in it are seen on a dark ground too."""
    return ax.xaxis.label.get_color()


def plain_logarithms(axis):
    """Write numbers on a logarithmic axis as they are: 0.5, 20, 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def label_text(name):
    """Return a name as matplotlib shows it: a dollar sign would begin a formula."""
    return visible(str(name)).replace("$", r"\$")


def tells_of_votes(estimator):
    """Whether the noise of an ensemble was calibrated to what votes had left of a budget."""
    accountant = estimator.accountant
    return (
        estimator.mechanism is None
        and accountant is not None
        and accountant.accounting == "data_dependent"
    )


def caution(ax):
    """Say of a picture that what it shows tells of the votes."""
    above = ax.get_title()
    ax.set_title((f"{above}\n" if above else "") + CAUTION, fontsize="small")


# Of the module, not a lambda: figures are pickled with what their axes hold.
def _plain(value, position):
    return f"{value:,.10g}"
