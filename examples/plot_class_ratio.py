"""Class ratios of unlabelled groups, learned from bags with private proportions.

Three pictures in ``output/class_ratio.png``: true against estimated ratios, with intervals; error
against shift, beside classifying and counting; and comments under videos, as sparse words, of which
it is known how many of two bags are spam. That part needs the YouTube Spam collection
(``youtube_spam.csv.gz`` in the folder named by ``SECRETBALLOT_DATA``) and is left out without it;
so is MNIST, for which scikit-learn's digits stand in. Bags are formed by label: a simulation.

    python examples/plot_class_ratio.py
"""

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from secretballot import (
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
    publish_proportions,
)
from secretballot.accounting import PrivacyLeakWarning
from secretballot.quantification import make_bags

PICTURE = Path("output") / "class_ratio.png"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("SECRETBALLOT_DATA", SHARED))


def images():
    """Instances, labels, size of a bag, and of a test group."""
    path = DATA / "mnist.npz"
    if not path.exists():
        X, y = load_digits(return_X_y=True)
        return "digits", X / 16, y, 100, 100
    stored = np.load(path)
    X = stored["X_train"][:30_000, 2:-2, 2:-2].reshape(30_000, 12, 2, 12, 2).mean(axis=(2, 4)) / 255
    return "MNIST", X.reshape(30_000, -1), stored["y_train"][:30_000].astype(int), 1000, 500


def groups(X, y, rng, size, ratios):
    """Groups with about these class ratios, and the ratios that came out."""
    counts = [rng.multinomial(size, wanted) for wanted in ratios]
    rows = [
        np.concatenate([rng.choice(np.flatnonzero(y == k), n) for k, n in enumerate(c) if n])
        for c in counts
    ]
    return [X[r] for r in rows], np.array(counts) / size


def ours(**options):
    """Features learned from the bags; then the classes' means of them are matched."""
    return make_pipeline(
        SoftmaxClassRatioEstimator(random_state=0, **options),
        MMDClassRatioEstimator(kernel="linear", random_state=0),
    )


def publish(bags, classes):
    with warnings.catch_warnings():
        # Bags formed by label give it away, whatever is published: a simulation's alone.
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return publish_proportions(bags, classes, epsilon=1.0, delta=1e-5)


def error(found, truth):
    return np.abs(found - truth).sum(axis=1)


def show_images(intervals_ax, shift_ax):
    name, X, y, size, test_size = images()
    rng = np.random.default_rng(0)
    half = rng.permutation(len(y))
    train, test = half[: 2 * len(y) // 3], half[2 * len(y) // 3 :]
    bags = make_bags(X[train], y[train], rho=0.05, size=size, random_state=0)
    published = publish(bags, range(10))
    model = ours().fit(bags.X, published)
    softmax, matching = model[0], model[-1]

    tests, truth = groups(X[test], y[test], rng, test_size, rng.dirichlet(np.full(10, 0.5), 5))
    found = matching.predict_interval(softmax.transform(tests), 0.9)
    inside = np.mean((found.lower <= truth) & (truth <= found.upper))
    print(f"{name}, epsilon 1: 90 % intervals cover {inside:.0%} of {truth.size} ratios")
    bars = np.abs(np.stack([found.lower, found.upper]) - found.ratios)
    intervals_ax.plot([0, 1], [0, 1], color="0.7", lw=1)
    intervals_ax.errorbar(
        truth.ravel(), found.ratios.ravel(), yerr=bars.reshape(2, -1), fmt="o", ms=3, lw=1
    )
    intervals_ax.set(
        xlabel="true ratio", ylabel="estimate, 90 % interval", title=f"{name}, epsilon = 1"
    )

    shifts = np.linspace(0, 1, 6)
    plain = MMDClassRatioEstimator(features="nystroem", random_state=0)
    methods = {
        "classify and count": softmax,
        "kernel means": plain.fit(bags.X, published),
        "learned features, matched": model,
    }
    curves = {method: [] for method in methods}
    for shift in shifts:  # from even to one class alone
        wanted = (1 - shift) / 10 + shift * np.eye(10)
        tests, truth = groups(X[test], y[test], rng, test_size, wanted)
        for method, fitted in methods.items():
            curves[method].append(error(fitted.predict(tests), truth).mean())
    for method, curve in curves.items():
        print(f"  {method:<28} mean L1 error {np.mean(curve):.3f}")
        shift_ax.plot(shifts, curve, "o-", ms=3, label=method)
    shift_ax.set(xlabel="share of one class beyond even", ylabel="mean L1 error", ylim=(0, None))
    shift_ax.set_title("error against shift")
    shift_ax.legend()


def show_texts(ax):
    path = DATA / "youtube_spam.csv.gz"
    if not path.exists():
        ax.text(0.5, 0.5, "YouTube Spam is not there", ha="center")
        ax.set_axis_off()
        return print("youtube_spam.csv.gz is not there: no text example")
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = pd.read_csv(path)
    texts = table["CONTENT"].to_numpy(dtype=object)
    spam = table["CLASS"].to_numpy()
    rng = np.random.default_rng(0)
    half = rng.permutation(len(spam))
    train, test = half[:1200], half[1200:]
    bags = make_bags(texts[train][:, None], spam[train], rho=0.2, size=500, random_state=0)
    published = publish(bags, [0, 1])
    words = PerBag(TfidfVectorizer(min_df=2, sublinear_tf=True))
    given = [list(bag[:, 0]) for bag in bags.X]
    model = make_pipeline(words, *(step for _, step in ours(features=None).steps))
    model.fit(given, published)
    shares = np.repeat(np.linspace(0, 1, 9), 4)
    tests, truth = groups(texts[test], spam[test], rng, 150, np.c_[1 - shares, shares])
    tests = [list(group) for group in tests]
    found = model[-1].predict_interval(model[:-1].transform(tests), 0.9)
    counted = model[:2].predict(tests)
    print(
        f"YouTube Spam, epsilon 1, bags with {published.proportions[:, 1].round(2)} spam: "
        f"mean L1 error {error(found.ratios, truth).mean():.3f}, counted "
        f"{error(counted, truth).mean():.3f}"
    )
    ax.plot([0, 1], [0, 1], color="0.7", lw=1)
    bars = np.abs(np.stack([found.lower, found.upper]) - found.ratios)[:, :, 1]
    ax.errorbar(truth[:, 1], found.ratios[:, 1], yerr=bars, fmt="o", ms=3, lw=1, label="matched")
    ax.plot(truth[:, 1], counted[:, 1], "x", ms=4, label="classify and count")
    ax.set(xlabel="true share of spam", ylabel="estimate, 90 % interval", title="comments, sparse")
    ax.legend()


def main():
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    show_images(*axes[:2])
    show_texts(axes[2])
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    print("picture", PICTURE)


if __name__ == "__main__":
    main()
