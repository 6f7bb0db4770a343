"""Draws the idea of the front page: sums with noise, and votes with noise, in both modes."""

from _front_picture import save_in_modes

PRIVATE, PUBLIC = "#b5542d", "#2f86b5"
HEIGHTS = (3.4, 6.2, 4.4, 7.4, 2.6)
NOISE = (-1.0, 0.9, 1.6, -0.6, 1.4)
# Middles of the four columns, and of the two lines.
COLUMNS = (7, 24, 45, 60)
SUMS, VOTES = 27, 8.5
HALF = 4.4


def arrow(ax, start, end, y, ink):
    """Draw an arrow to the right."""
    style = {"arrowstyle": "-|>", "color": ink, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (end, y), (start, y), arrowprops=style)


def rows(ax, y, parts):
    """Draw a table, whose rows stand in parts."""
    per_part = 6 // parts
    for row in range(6):
        at = y + 3.1 - 1.15 * row - 0.9 * (row // per_part - (parts - 1) / 2)
        for cell in range(3):
            ax.add_patch(_box(COLUMNS[0] - 4.2 + 2.9 * cell, at, 2.6, 0.8, PRIVATE, 0.85))


def _box(x, y, width, height, color, alpha=1.0):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=color, edgecolor="none", alpha=alpha)


def bars(ax, middle, y, heights, color):
    """Draw bars beside each other."""
    left = middle - 0.9 * len(heights)
    for place, height in enumerate(heights):
        ax.add_patch(_box(left + 1.8 * place + 0.2, y - HALF, 1.4, height, color))


def draw_idea(figure, ink):
    """Draw both lines of the picture, and what separates private from public."""
    ax = figure.subplots()
    ax.set(xlim=(0, 66), ylim=(-1, 38))
    ax.axis("off")
    ax.plot([35.2, 35.2], [0, 34], color=ink, lw=1.2, ls=(0, (4, 3)))
    for x, text, color in ((17, "private", PRIVATE), (52.5, "may be shown", PUBLIC)):
        ax.text(x, 36, text, ha="center", color=color, weight="bold")
    ax.text(35.2, 35.6, "accountant", ha="center", fontsize=11)

    lines = (
        (SUMS, ("rows", "sums of all", "noisy sums", "model")),
        (VOTES, ("parts of rows", "teachers' votes", "public rows", "student")),
    )
    for y, names in lines:
        for x, name in zip(COLUMNS, names, strict=True):
            ax.text(x, y - HALF - 2.6, name, ha="center", fontsize=11.5)
        arrow(ax, 12.6, 17.8, y, ink)
        arrow(ax, 30.4, 39.4, y, ink)
        arrow(ax, 51, 55, y, ink)
        ax.text(34.7, y + 1, "+ noise", ha="right", fontsize=10.5)

    rows(ax, SUMS, 1)
    rows(ax, VOTES, 3)
    bars(ax, COLUMNS[1], SUMS, HEIGHTS, PRIVATE)
    noisy = [height + noise for height, noise in zip(HEIGHTS, NOISE, strict=True)]
    bars(ax, COLUMNS[2], SUMS, noisy, PUBLIC)
    bars(ax, COLUMNS[1], VOTES, (2.6, 7.2), PRIVATE)
    for at, name in ((-0.9, "A"), (0.9, "B")):
        ax.text(COLUMNS[1] + at, VOTES + HALF - 0.6, name, ha="center", fontsize=10)
    for row, name in enumerate("BABB"):
        at = VOTES + 2.6 - 2 * row
        for cell in range(2):
            ax.add_patch(_box(COLUMNS[2] - 4.3 + 2.9 * cell, at, 2.6, 1.1, PUBLIC, 0.5))
        ax.text(COLUMNS[2] + 3, at - 0.1, name, ha="center", fontsize=10.5, color=PUBLIC)
    steps = [COLUMNS[3] + 1.8 * at - 4.5 for at in range(6)]
    effect = [SUMS - HALF + height for height in (1.2, 3.1, 4.9, 6.6, 5.4)]
    ax.stairs(effect, steps, baseline=None, color=PUBLIC, lw=2.4)
    ax.plot([COLUMNS[3] - 4, COLUMNS[3] + 4], [VOTES - 3.4, VOTES + 3.4], color=PUBLIC, lw=2.4)
    for x, y in ((-3, 1.4), (-1, 2.6), (-2.6, 3.4)):
        ax.plot(COLUMNS[3] + x, VOTES + y, "o", color=PUBLIC, ms=5)
    for x, y in ((1, -2.2), (3, -0.4), (3.2, -3)):
        ax.plot(COLUMNS[3] + x, VOTES + y, "s", color=PUBLIC, ms=5)


def draw(app):
    """Draw it for both modes."""
    save_in_modes("idea", (5.6, 3.6), draw_idea)


def setup(app):
    """Draw when a build begins, as the other picture of the front page."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
