"""Draws the picture of the front page from the table in README, for both modes of the site."""

import re
from pathlib import Path

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
PLACE = DOCS / "_static" / "made"
SHOWN = {
    "`PrivateLogisticRegression`": ("PrivateLogisticRegression", "o-", "C0", 2.6),
    "the same without public rows": ("the same, no public rows", "o--", "C0", 1.6),
    "gradient descent on bins of the public rows": ("gradient descent, bins", "s-", "C1", 1.6),
    "gradient descent on their components": ("gradient descent, components", "D-", "C4", 1.6),
    "explainable boosting (DP-EBM)": ("explainable boosting (DP-EBM)", "^-", "C2", 1.6),
    "diffprivlib's logistic regression": ("diffprivlib", "v-", "C3", 1.6),
}
INK = {"light": "#222832", "dark": "#ced6dd"}


def measured():
    """Return epsilons, test accuracies by line of the table, and those without privacy."""
    part = README.read_text(encoding="utf-8").split("Test accuracy / AUC on Adult")[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\|.*\|$", part, flags=re.M)[:11]
    ]
    epsilons = [float(cell.split()[-1]) for cell in rows[0][1:]]
    lines = {
        name: [float(re.search(r"\.\d+", cell)[0]) if cell else None for cell in cells]
        for name, *cells in rows[2:]
        if name in SHOWN
    }
    free = next(row[0] for row in rows if row[0].startswith("without privacy"))
    return epsilons, lines, float(re.search(r"boosting (\.\d+)", free)[1])


def save_in_modes(name, size, draw_on):
    """Save a picture twice: its ink is that of the mode."""
    import matplotlib
    from matplotlib.figure import Figure

    PLACE.mkdir(exist_ok=True)
    for mode, ink in INK.items():
        style = {
            "text.color": ink,
            "axes.edgecolor": ink,
            "axes.labelcolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "font.size": 12,
            "svg.hashsalt": "secretballot",
            "svg.fonttype": "none",
            "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
        }
        with matplotlib.rc_context(style):
            figure = Figure(figsize=size, layout="constrained")
            draw_on(figure, ink)
            figure.savefig(PLACE / f"{name}-{mode}.svg", transparent=True, metadata={"Date": None})


def draw(app):
    """Draw accuracies against epsilon."""
    epsilons, lines, free = measured()
    if set(lines) != set(SHOWN):
        raise ValueError(f"README's table lacks {set(SHOWN) - set(lines)}")

    def draw_accuracies(figure, ink):
        ax = figure.subplots()
        ax.axhline(free, color=ink, linewidth=1, linestyle=":")
        ax.text(2, free, "boosting without privacy", ha="right", va="bottom")
        for name, values in lines.items():
            label, marker, color, width = SHOWN[name]
            ax.plot(epsilons, values, marker, color=color, lw=width, ms=6, label=label)
        ax.set(xscale="log", ylabel="accuracy on other rows", xlabel="epsilon, one row's")
        ax.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=10.5, loc="lower right")

    save_in_modes("accuracy", (7.2, 4.6), draw_accuracies)


def setup(app):
    """Draw when a build begins: README may have other figures by then."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
