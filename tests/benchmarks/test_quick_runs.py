"""Every benchmark runs in its quick version; what it lacks, it leaves out with a reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = [
    path
    for path in sorted(FOLDER.glob("*/*.py"))
    if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
]
LEFT_OUT = "left out: "


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """What scripts keep between runs: nothing that an earlier run has made."""
    return tmp_path_factory.mktemp("output")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_quick_version_runs(script, output):
    done = subprocess.run(
        [sys.executable, str(script), "--quick"],
        env=os.environ | {"SECRETBALLOT_OUTPUT": str(output)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines
    if all(line.startswith(LEFT_OUT) for line in lines):
        pytest.skip(lines[0])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_all_have_a_quick_version(script):
    assert '"--quick"' in script.read_text(encoding="utf-8")
