"""Run examples without Sphinx: ``python examples`` lists them, ``python examples top_k`` runs one.

What a block of an example ends with is printed, as a page shows it. Pictures are saved in
``output/``.
"""

import argparse
import ast
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
OUTPUT = Path("output")


def examples():
    """Where each example is, by the name that the command line knows it by."""
    return {path.stem.removeprefix("plot_"): path for path in sorted(HERE.glob("plot_*.py"))}


def title(path):
    """First line of an example's docstring."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0]


def run(path):
    """Run an example block by block, and print what each ends with."""
    source = path.read_text(encoding="utf-8")
    starts = [at for at, line in enumerate(source.splitlines(), 1) if line.startswith("# %%")]
    body = ast.parse(source).body[1:]  # without the docstring
    names = {"__name__": "__main__", "__file__": str(path)}
    for node, following in zip(body, [*body[1:], None], strict=True):
        end = following.lineno if following else float("inf")
        last = following is None or any(node.lineno < start < end for start in starts)
        if last and isinstance(node, ast.Expr):
            value = eval(compile(ast.Expression(node.value), str(path), "eval"), names)
            if value is not None:
                print(f"{value}\n")
        else:
            exec(compile(ast.Module([node], []), str(path), "exec"), names)


def save(name):
    """Save all figures that are open, and say where."""
    from matplotlib import pyplot as plt

    OUTPUT.mkdir(exist_ok=True)
    numbers = plt.get_fignums()
    for number in numbers:
        path = OUTPUT / (f"{name}.png" if len(numbers) == 1 else f"{name}-{number}.png")
        plt.figure(number).savefig(path, dpi=120)
        print(f"picture: {path}")
    plt.close("all")


def main(arguments=None):
    """List the examples, or run those that are named."""
    known = examples()
    parser = argparse.ArgumentParser(prog="python examples", description="Run examples.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; none: list them")
    names = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no example {unknown[0]!r}; there are {', '.join(known)}")
    if not names:
        for name, path in known.items():
            print(f"{name:<{max(map(len, known))}}  {title(path)}")
        return
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    for name in names:
        with mock.patch.object(plt, "show", return_value=None):  # pictures are saved
            run(known[name])
        save(name)


if __name__ == "__main__":
    main()
