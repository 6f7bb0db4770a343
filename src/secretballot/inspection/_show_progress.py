"""Progress of whatever is done within a block."""

from __future__ import annotations

import time
from contextlib import contextmanager

from secretballot._progress import listening

#: Tasks that are over sooner are not shown, in seconds.
_SOON = 0.5


@contextmanager
def show_progress(show="auto"):
    """Show how far long work is, of everything that is done within the block.

    Fits and `predict_private` count teachers, `PrivateLogisticRegression` its rounds, `calibrate`,
    `price_plan` and `plan_rows` the rows of the game, audits the pairs of neighbours. Names of
    tasks and counts are shown, nothing else. Outside of the block nothing is told, and nothing is
    slower. What runs in other threads or processes is told by those who wait for it.

    Parameters
    ----------
    show : {"auto", "bar", "lines"} or callable, default="auto"
        ``"bar"`` draws bars, in notebooks too, and needs `rich` (the extra
        ``secretballot[progress]``). ``"lines"`` prints a line for every tenth. ``"auto"`` takes
        bars if it can. Tasks that are over within half a second are not shown. A function is called
        with all of it, as ``show(name, done, total)``, at the beginning of a task and whenever
        more is done; an error of its own ends the work.

    Notes
    -----
    An estimator with callbacks of scikit-learn, such as its `ProgressBar`, leaves its own steps to
    them, also within the block.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import plan_rows
    >>> from secretballot.inspection import show_progress
    >>> heard = []
    >>> with show_progress(lambda name, done, total: heard.append((name, done, total))):
    ...     n_rows = plan_rows(GNMax(sigma=70), 100, epsilon=0.5, delta=1e-5, n_columns=2)
    >>> heard[:2]
    [('rows of the game', 0, 100), ('rows of the game', 1, 100)]
    """
    listener = _listener(show)
    with listening(listener):
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
    """Tells a function of everything."""

    def __init__(self, tell):
        self._tell = tell

    def begin(self, task):
        self._tell(task.name, task.done, task.total)

    advance = begin

    def end(self, task):
        pass

    def close(self):
        pass


class _Lines:
    """Prints a line for every tenth of a task that takes longer."""

    def __init__(self):
        self._begun = {}

    def begin(self, task):
        self._begun[task] = time.monotonic(), 0

    def advance(self, task):
        begun, tenths = self._begun[task]
        now = task.done * 10 // task.total
        self._begun[task] = begun, now
        if now > tenths and time.monotonic() - begun > _SOON:
            print(f"[secretballot] {task.name}: {task.done:,} of {task.total:,}", flush=True)

    def end(self, task):
        del self._begun[task]

    def close(self):
        pass


class _Bars:
    """Draws a bar for each task that takes longer, while there is one."""

    def __init__(self, rich_progress, other_display):
        self._rich = rich_progress
        self._other_display = other_display
        self._drawing = None
        self._begun = {}
        self._bars = {}
        self._closed = False

    def begin(self, task):
        self._begun[task] = time.monotonic()

    def advance(self, task):
        if self._closed:
            return  # work that was begun in the block and goes on after it
        if task in self._bars:
            self._drawing.update(self._bars[task], completed=task.done)
        elif time.monotonic() - self._begun[task] > _SOON:
            # Only while there is something to see: another display may be next.
            if self._drawing is None and not self._begin_drawing():
                return
            name = f"{'  ' * len(self._bars)}{task.name}"
            self._bars[task] = self._drawing.add_task(name, total=task.total, completed=task.done)

    def end(self, task):
        del self._begun[task]
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
            return False  # one at a time
        self._drawing = drawing
        return True
