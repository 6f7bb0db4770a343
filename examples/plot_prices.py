"""
PrivateLinearRegression: terms, a pair of columns, intervals
============================================================

A linear regression of private sales: a piecewise linear effect of each column, a map of two
columns that matter together, and the interval in which the price of the next flat lies. All of it
is released once, and read as often as you like.
"""

# %%
# :Private: 20,000 sales of flats, which are made up: area, year, town and price.
# :Public: 400 other flats, without their prices.
# :Protected: one sale, whatever it was.
# :Budget: :term:`epsilon` = 1 and delta = 0.00001 in all; the fit may spend 0.9 of it, what is
#     left measures how good the model is.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.inspection import TermsDisplay


def flats(n, seed):
    """Flats: larger ones cost more, more so in town A; old ones and new ones do too."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "area": rng.gamma(6, 12, n).clip(15, 250),
            "year": rng.integers(1900, 2025, n),
            "town": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    by_area = np.where(X["town"] == "A", 5.0, 2.5) * X["area"]
    price = 100 + by_area + 1.2 * np.abs(X["year"] - 1965) + rng.normal(scale=40, size=n)
    return X, price.to_numpy()


X, price = flats(20_000, seed=0)
pool, _ = flats(400, seed=1)
new, new_price = flats(5_000, seed=2)

# %%
# One fit
# -------
# ``target_bounds`` is public. It may be generous: after the first round the noise follows the size
# of the residuals, not this range. In thousands of dollars:

accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
model = PrivateLinearRegression(target_bounds=(0, 3_000), epsilon=0.9, accountant=accountant)
model.fit(X, price, X_public=PublicData(pool))
print(f"R^2 on new flats: {model.score(new, new_price):.3f}")
model.interactions_

# %%
# What each column adds
# ---------------------
# Effects of a number are lines between knots, which lie at quantiles of the public rows. Bands are
# two standard errors: noise, sampling and public rows, all of which are known. The last picture is
# the pair that stood out of the noise: area counts for more in town A.

TermsDisplay.from_estimator(model)
plt.show()

# %%
# As numbers:

area = model.terms()[0]
pd.DataFrame({"effect": area.effect, "error": area.error}, index=area.labels).round(1)

# %%
# Single columns alone
# --------------------
# Without pairs the model can't say that a square metre costs more in one town than in another. (A
# budget of its own for the comparison, which one office would not have: the two add up.)

alone = PrivateLinearRegression(
    target_bounds=(0, 3_000),
    interactions=0,
    epsilon=0.9,
    accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5),
).fit(X, price, X_public=PublicData(pool))
print(f"R^2 without pairs: {alone.score(new, new_price):.3f}")

# %%
# Intervals for new flats
# -----------------------
# They come from the released histogram of residuals, and are equally wide for all flats.

low, high = model.predict_interval(new, confidence=0.9)
inside = np.mean((low <= new_price) & (new_price <= high))
print(f"{inside:.1%} of the new prices lie in intervals of 90 %")

shown = np.argsort(model.predict(new))[:: len(new) // 60]
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.fill_between(range(len(shown)), low[shown], high[shown], alpha=0.25, label="90 % interval")
ax.plot(model.predict(new)[shown], label="prediction")
ax.plot(new_price[shown], ".", color="black", label="price")
ax.set(xlabel="new flats, by predicted price", ylabel="price (thousands)")
ax.legend(fontsize="small")
plt.show()

# %%
# What was spent
# --------------

print(f"left for a score: {accountant.remaining().share:.0%} of the budget")
accountant
