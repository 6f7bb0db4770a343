"""Run the benchmarks of a subject, or say which subjects there are.

    python benchmarks [SUBJECT ...] [--all] [--quick]

A subject is a folder. Of its files those are run that can be on their own
(``python benchmarks/ledger/speed.py``); the others are parts of them. ``--quick`` is passed on to
those that know it: they would take hours without.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUBJECTS = {path.parent.name: path for path in sorted(HERE.glob("*/__init__.py"))}


def scripts(subject: str) -> list[Path]:
    """The files of a subject that can be run."""
    files = sorted(SUBJECTS[subject].parent.glob("*.py"))
    return [path for path in files if 'if __name__ == "__main__"' in path.read_text("utf-8")]


def command(script: Path, quick: bool) -> list[str]:
    """What runs a script, with the options that it knows."""
    options = ["--quick"] if quick and '"--quick"' in script.read_text("utf-8") else []
    return [sys.executable, str(script), *options]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--all", action="store_true", help="all subjects")
    parser.add_argument("--quick", action="store_true", help="smaller tables where there are any")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.subjects) - set(SUBJECTS)):
        parser.error(f"unknown subject {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    chosen = list(SUBJECTS) if arguments.all else arguments.subjects
    if not chosen:
        for subject, path in SUBJECTS.items():
            print(f"{subject:14s}{ast.get_docstring(ast.parse(path.read_text('utf-8')))}")
    for subject in chosen:
        for script in scripts(subject):
            words = command(script, arguments.quick)
            shown = " ".join([str(script.relative_to(HERE.parent)), *words[2:]])
            print(f"== {shown}", flush=True)
            if status := subprocess.run(words).returncode:
                sys.exit(f"{shown} ended with status {status}")


if __name__ == "__main__":
    main()
