"""Progress of the work within a block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from secretballot._base._progress import ProgressTask, send_progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Receives the name of a task, the number of parts done, and that of all parts.
Report: TypeAlias = Callable[[str, int, int], object]

#: Seconds before a task is shown.
_MIN_SECONDS = 0.5


@contextmanager
def show_progress(show: str | Report = "auto") -> Iterator[None]:
    """Show the progress of long work within a block.

    Fits and `predict_private` count teachers, `PrivateLogisticRegression` its rounds, `calibrate`,
    `price_plan` and `plan_rows` the rows of the game, audits the pairs of neighbours. Of
    `PrivateParts`, the parts that are exchanged and the buckets of each round. Only names of
    tasks and counts are shown. Work elsewhere is counted by the thread that waits for it.

    Parameters
    ----------
    show : {"auto", "bar", "lines"} or callable, default="auto"
        ``"bar"`` draws bars, in notebooks too, and needs `rich` (the extra
        `progress` of this package). ``"lines"`` prints a line for every tenth. ``"auto"`` takes
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
    >>> from secretballot.accounting import price_plan
    >>> from secretballot.inspection import show_progress
    >>> reports = []
    >>> with show_progress(lambda name, done, total: reports.append((name, done, total))):
    ...     price = price_plan(GNMax(sigma=70), 100, n_columns=2)
    >>> reports[:2]
    [('rows of the game', 0, 100), ('rows of the game', 1, 100)]
    """
    listener = _listener(show)
    with closing(listener), send_progress(listener):
        yield


def _listener(show: str | Report) -> _Listener:
    if callable(show):
        return _Reports(show)
    if show not in ("auto", "bar", "lines"):
        raise ValueError(f'show={show!r} must be "auto", "bar", "lines" or a function.')
    if show == "lines":
        return _Lines()
    try:
        return _Bars()
    except ImportError as error:
        if show == "auto":
            return _Lines()
        raise ImportError(
            'show="bar" draws with rich: install the extra `progress` of this package, or take '
            'show="lines".'
        ) from error


def _is_long(task: ProgressTask) -> bool:
    return time.monotonic() - task.start > _MIN_SECONDS


class _Listener:
    """Receiver of reports that shows nothing."""

    def begin(self, task: ProgressTask) -> None:
        pass

    def advance(self, task: ProgressTask) -> None:
        pass

    def end(self, task: ProgressTask) -> None:
        pass

    def close(self) -> None:
        pass


class _Reports(_Listener):
    """Calls a function with each report."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def begin(self, task: ProgressTask) -> None:
        self._report(task.name, task.done, task.total)

    advance = begin


class _Lines(_Listener):
    """Prints a line for every tenth of a long task."""

    def __init__(self) -> None:
        self._tenths: dict[ProgressTask, int] = {}

    def advance(self, task: ProgressTask) -> None:
        tenths_before = self._tenths.get(task, 0)
        self._tenths[task] = task.done * 10 // task.total
        if self._tenths[task] > tenths_before and _is_long(task):
            print(f"[secretballot] {task.name}: {task.done:,} of {task.total:,}", flush=True)

    def end(self, task: ProgressTask) -> None:
        self._tenths.pop(task, None)


class _Bars(_Listener):
    """Draws a bar for each long task."""

    def __init__(self) -> None:
        import rich.errors
        import rich.progress

        self._rich = rich.progress
        self._other_display = rich.errors.LiveError
        self._drawing: Progress | None = None
        self._bars: dict[ProgressTask, TaskID] = {}
        self._closed = False

    def advance(self, task: ProgressTask) -> None:
        if self._closed:
            return  # work that began in the block and continues after it
        if self._drawing is not None and task in self._bars:
            self._drawing.update(self._bars[task], completed=task.done)
        elif _is_long(task):
            # Rich draws one display at a time: ours lasts while it has a bar.
            self._drawing = self._drawing or self._begin_drawing()
            if self._drawing is not None:
                name = f"{'  ' * len(self._bars)}{task.name}"
                self._bars[task] = self._drawing.add_task(
                    name, total=task.total, completed=task.done
                )

    def end(self, task: ProgressTask) -> None:
        bar = self._bars.pop(task, None)
        if self._drawing is None or bar is None:
            return
        if self._bars:
            self._drawing.remove_task(bar)
        else:
            self._stop_drawing()

    def close(self) -> None:
        self._closed = True
        self._bars.clear()
        self._stop_drawing()

    def _stop_drawing(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None

    def _begin_drawing(self) -> Progress | None:
        """Return a new display of bars; None while another display of rich is drawn."""
        rich = self._rich
        drawing: Progress = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeRemainingColumn(elapsed_when_finished=True),
        )
        try:
            drawing.start()
        except self._other_display:
            return None
        return drawing
