"""Ctrl-C at a chosen moment of a call, and what it left of the ledger."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import secretballot
from secretballot.accounting import CompletedInterrupt, PrivacyAccountant

SOURCE = Path(secretballot.__file__).parent
LEDGER = str(SOURCE / "ledger")
#: What runs from the record to the answer.
RECORDING = (
    LEDGER,
    *(str(SOURCE / "accounting" / name) for name in ("_accountant.py", "reserving")),
)


def with_signal(act, at, folders=("",)):
    """Call `act`, with SIGINT at one of its moments; return what came of it, and the moments.

    The moments are where the interpreter looks for signals, in the files of some folders: where a
    function begins, after a call of a function that is not written in Python, and after a jump
    back.
    """
    seen = 0

    def count(frame):
        nonlocal seen
        if frame.f_code.co_filename.startswith(folders):
            seen += 1
            if seen == at:
                sys.settrace(None)
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    def trace(frame, event, argument):
        reached = frame.f_lasti

        def trace_lines(frame, event, argument):
            nonlocal reached
            before, reached = reached, frame.f_lasti
            if event == "line" and reached < before:
                count(frame)
            return trace_lines

        return trace_lines

    def profile(frame, event, argument):
        if event in ("call", "c_return"):
            count(frame)

    def drop(failure):
        # A generator that is thrown away is called once more, where Python looks for no signals.
        dropped.append(failure.exc_type is KeyboardInterrupt)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = sys.gettrace(), sys.getprofile()
    dropped, hook, sys.unraisablehook = [], sys.unraisablehook, drop
    try:
        sys.settrace(trace)
        sys.setprofile(profile)
        try:
            answer, error = act(), None
        finally:
            sys.setprofile(before[1])
            sys.settrace(before[0])
    except KeyboardInterrupt as interrupt:
        # As an interactive session does, this keeps all frames that the exception passed.
        answer, error = None, interrupt
    finally:
        sys.unraisablehook = hook
    assert signal.signal(signal.SIGINT, handler) is signal.default_int_handler
    assert error or dropped == [True] or seen < at, f"the signal at {at} was lost"
    return answer, error, seen


def elsewhere(act):
    """Call a function in another thread, which does not have the locks of this one."""
    answers = []

    def run():
        try:
            answers.append(act())
        except BaseException as error:
            answers.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert answers, "it waits for a lock that nobody gives back"
    if isinstance(answers[0], BaseException):
        raise answers[0]
    return answers[0]


def n_entries(path):
    return PrivacyAccountant.open(path)._ledger.totals().sequence


def interrupt_everywhere(path, act, spend, *, folders, first=1, step=1):
    """Interrupt a call at one moment after the other, until it has no more.

    Each time: who comes next can spend, and is charged; what the interrupted call charged it has
    answered, and what it answered it charged; the signal was raised.

    Parameters
    ----------
    path : Path
        The ledger.
    act, spend : callable
        What is interrupted, and what is then done, both with an accountant; each writes one entry.

    Returns
    -------
    dict
        Numbers of interrupted calls: that charged nothing, and that carried their answer.
    """
    counted = {"nothing charged": 0, "answer kept": 0}
    entries = n_entries(path)
    at = first
    while True:
        answer, error, seen = with_signal(partial(act, PrivacyAccountant.open(path)), at, folders)
        now = elsewhere(lambda: n_entries(path))
        is_answered = error is None or isinstance(error, CompletedInterrupt)
        assert now - entries == is_answered, (at, error)
        if isinstance(error, CompletedInterrupt):
            answer = error.answer
            counted["answer kept"] += 1
        elif error:
            counted["nothing charged"] += 1
        yield answer, error
        elsewhere(lambda: spend(PrivacyAccountant.open(path)))
        entries = now + 1
        if seen < at:
            break
        at += step
        del error, answer
    gc.collect()
    return counted
