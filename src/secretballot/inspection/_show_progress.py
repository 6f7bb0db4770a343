"""Progress of the work within a block."""

from __future__ import annotations

import time
from contextlib import contextmanager

from secretballot._progress import send_progress

#: Seconds before a task is shown.
_MIN_SECONDS = 0.5


@contextmanager
def show_progress(show="auto"):
    """Show the progress of long work within a block.

    Fits and `predict_private` count teachers, `PrivateLogisticRegression` its rounds, `calibrate`,
    `price_plan` and `plan_rows` the rows of the game, audits the pairs of neighbours. Names of
    tasks and counts are shown, nothing else. Work in other threads or processes is counted by the
    thread that waits for it.

    Parameters
    ----------
    show : {"auto", "bar", "lines"} or callable, default="auto"
        ``"bar"`` draws bars, in notebooks too, and needs `rich` (the extra
        ``secretballot[progress]``). ``"lines"`` prints a line for every tenth. ``"auto"`` takes
        bars if it can. Tasks that are over within half a second are not shown. A function is called
        as ``show(name, done, total)`` at the beginning of each task and at each advance; its errors
        end the work.

    Notes
    -----
    An estimator with callbacks of scikit-learn, such as its `ProgressBar`, leaves its own steps to
    them, also within the block.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import plan_rows
    >>> from secretballot.inspection import show_progress
    >>> reports = []
    >>> with show_progress(lambda name, done, total: reports.append((name, done, total))):
    ...     n_rows = plan_rows(GNMax(sigma=70), 100, epsilon=0.5, delta=1e-5, n_columns=2)
    >>> reports[:2]
    [('rows of the game', 0, 100), ('rows of the game', 1, 100)]
    """
    listener = _listener(show)
    with send_progress(listener):
        try:
            yield
        finally:
            listener.close()


def _listener(show):
    if callable(show):
        return _Function(show)
    if show == "lines":
        return _Lines()
    if show not in ("auto", "bar"):
        raise ValueError(f'show={show!r} must be "auto", "bar", "lines" or a function.')
    try:
        import rich.errors
        import rich.progress
    except ImportError as error:
        if show == "bar":
            raise ImportError(
                'show="bar" draws with rich; install secretballot[progress], or take show="lines".'
            ) from error
        return _Lines()
    return _Bars(rich.progress, rich.errors.LiveError)


class _Function:
    """Calls a function with each report."""

    def __init__(self, function):
        self._function = function

    def begin(self, task):
        self._function(task.name, task.done, task.total)

    advance = begin

    def end(self, task):
        pass

    def close(self):
        pass


class _Lines:
    """Prints a line for every tenth of a long task."""

    def __init__(self):
        self._starts = {}

    def begin(self, task):
        self._starts[task] = time.monotonic(), 0

    def advance(self, task):
        start, tenths_before = self._starts[task]
        tenths = task.done * 10 // task.total
        self._starts[task] = start, tenths
        if tenths > tenths_before and time.monotonic() - start > _MIN_SECONDS:
            print(f"[secretballot] {task.name}: {task.done:,} of {task.total:,}", flush=True)

    def end(self, task):
        del self._starts[task]

    def close(self):
        pass


class _Bars:
    """Draws a bar for each long task."""

    def __init__(self, rich_progress, other_display):
        self._rich = rich_progress
        self._other_display = other_display
        self._drawing = None
        self._starts = {}
        self._bars = {}
        self._closed = False

    def begin(self, task):
        self._starts[task] = time.monotonic()

    def advance(self, task):
        if self._closed:
            return  # work that began in the block and continues after it
        if task in self._bars:
            self._drawing.update(self._bars[task], completed=task.done)
        elif time.monotonic() - self._starts[task] > _MIN_SECONDS:
            # Rich draws one display at a time: ours lasts while it has a bar.
            if self._drawing is None and not self._begin_drawing():
                return
            name = f"{'  ' * len(self._bars)}{task.name}"
            self._bars[task] = self._drawing.add_task(name, total=task.total, completed=task.done)

    def end(self, task):
        del self._starts[task]
        bar = self._bars.pop(task, None)
        if bar is None:
            return
        if self._bars:
            self._drawing.remove_task(bar)
        else:
            self._stop_drawing()

    def close(self):
        self._closed = True
        self._bars.clear()
        self._stop_drawing()

    def _stop_drawing(self):
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None

    def _begin_drawing(self):
        rich = self._rich
        drawing = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeRemainingColumn(elapsed_when_finished=True),
        )
        try:
            drawing.start()
        except self._other_display:
            return False
        self._drawing = drawing
        return True
