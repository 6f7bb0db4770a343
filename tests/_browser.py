"""A browser, simulated in an ordinary interpreter: what is missing there is missing here."""

from tests._programs import run_python

#: Pyodide has no randomgen, no processes and no threads; its files, locks and SQLite work. The
#: platform is set last, because other packages have parts of their own for it.
PREPARED = """
import os, sys, threading
os.environ["JOBLIB_MULTIPROCESSING"] = "0"
sys.modules["randomgen"] = None
import sklearn.linear_model
def refuse(*_):
    raise RuntimeError("can't start new thread")
threading.Thread.start = os.fork = refuse
sys.platform = "emscripten"
"""


def run_in_browser(code, **options):
    """Run Python code as in a browser; return its status and output."""
    return run_python("-c", PREPARED + code, **options)
