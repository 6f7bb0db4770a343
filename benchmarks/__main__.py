"""Run the benchmarks of a subject, or say which subjects there are.

    python benchmarks [SUBJECT ...] [--all] [--quick]

A subject is a folder. Of its files those are run that can be on their own
(``python benchmarks/ledger/stores.py``); the others are parts of them. All take ``--quick``, which
ends in about a minute; without it some take hours. What is kept between runs is in ``output``, or
in the folder that SECRETBALLOT_OUTPUT names. Data sets that are not shipped are looked for in
SECRETBALLOT_DATA, or beside the project; what is missing is left out.
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--all", action="store_true", help="all subjects")
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.subjects) - set(SUBJECTS)):
        parser.error(f"unknown subject {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    chosen = list(SUBJECTS) if arguments.all else arguments.subjects
    if not chosen:
        for subject, path in SUBJECTS.items():
            print(f"{subject:14s}{ast.get_docstring(ast.parse(path.read_text('utf-8')))}")
    for subject in chosen:
        for script in scripts(subject):
            words = [str(script), *(["--quick"] if arguments.quick else [])]
            shown = " ".join([str(script.relative_to(HERE.parent)), *words[1:]])
            print(f"== {shown}", flush=True)
            if status := subprocess.run([sys.executable, *words]).returncode:
                sys.exit(f"{shown} ended with status {status}")


if __name__ == "__main__":
    main()
