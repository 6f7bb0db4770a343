"""The gap from which on a set is released nine times in ten, by the noise of its test.

    python benchmarks/topk/gaps.py [--epsilon 1] [--delta 1e-6]

One set, ten and a hundred on one budget, of up to 100 items each, one person joins or leaves; two
fifths of delta for tests that pass wrongly. In a Gaussian and in a Renyi budget; with Laplace noise
everything is purely private, and adds up as such in a budget of basic composition too.
"""

from __future__ import annotations

import argparse
import math

from scipy.special import ndtri

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import StableTopK

SETS = (1, 10, 100)
#: How far above the height that is tested a gap passes nine times in ten, in the noise's scale.
ABOVE = {"gaussian": float(ndtri(0.9)), "laplace": math.log(5)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    arguments = parser.parse_args()
    budgets = {
        "basic composition": {"order": math.inf},
        "Gaussian": {"approximation_delta": 0.85 * arguments.delta},
        "Renyi": {"order": "renyi", "approximation_delta": arguments.delta / 2},
    }
    print(f"{'noise':10s}{'budget':20s}" + "".join(f"{n:8d} sets" for n in SETS))
    for noise, above in ABOVE.items():
        for name, budget in budgets.items():
            if noise == "gaussian" and budget.get("order") == math.inf:
                continue
            found = []
            for n in SETS:
                given = {
                    "delta_t": 0.4 * arguments.delta / n,
                    "relation": "add_remove",
                    "test": noise,
                    "k_max": 100,
                }
                accountant = PrivacyAccountant(
                    arguments.epsilon, arguments.delta, relation="add_remove", **budget
                )
                mechanism = accountant.calibrate(
                    lambda s, given=given: StableTopK(rho=1 / s**2, **given), n
                )
                test = mechanism._gap_test
                found.append(1 + test.height + above * test.scale)
            print(f"{noise:10s}{name:20s}" + "".join(f"{each:13.1f}" for each in found))


if __name__ == "__main__":
    main()
