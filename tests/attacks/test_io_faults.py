"""Input and output of ledgers, journals and marks that fails once, at each call in turn."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tests._programs import python_environment, run_program, run_python

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


@pytest.mark.timeout(900)
def test_each_call_of_each_kind_of_spend_may_fail(tmp_path, counts):
    """An error that is said, or none; what was answered is recorded; then all goes on."""
    library = tmp_path / "faulty.so"
    source = Path(__file__).with_name("_faulty_io.c")
    compiled = run_program("cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl")
    assert compiled.returncode == 0, compiled.stderr
    folder = tmp_path / "ledgers"
    folder.mkdir()
    done = run_python(
        *("-m", "tests.attacks._faulty_io", library, folder),
        env={**python_environment(), "LD_PRELOAD": str(library)},
        timeout=850,
    )
    assert done.returncode == 0, done.stderr
    spent, made = json.loads(done.stdout)
    counts("faults injected into spends", spent["counted"]["faults"])
    counts("charges kept without an answer", spent["counted"]["charges kept without an answer"])
    counts("faults injected into new ledgers", made["counted"]["faults"])
    assert spent["faults"] == made["faults"] == []
    assert spent["counted"]["faults"] > 900
    assert made["counted"]["faults"] > 60
