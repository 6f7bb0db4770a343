"""Figures of the published tables that `tables.py` holds its own against.

Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE" (PoPETs 2023). Rows are budgets
(log 4, 8, 16), columns shares of rows that have them (25, 50, 75 %; for the minority 100 % too).
"""

from __future__ import annotations

LABELS = {
    # Tables 7 and 5
    "adult": {
        "plain": 88,
        "upsampling": [[140, 202, 272], [198, 346, 541], [264, 530, 868]],
        "weighting": [[139, 203, 273], [198, 349, 543], [259, 530, 872]],
    },
    "mnist": {
        "plain": 257,
        "upsampling": [[158, 237, 326], [231, 414, 636], [308, 623, 1038]],
        "weighting": [[433, 492, 564], [474, 890, 1163], [648, 1239, 1787]],
    },
}
STUDENT = {
    # Tables 9 and 8, accuracy in per cent
    "adult": {
        "plain": 79.85,
        "upsampling": [[81.02, 81.76, 82.16], [81.79, 82.52, 82.87], [82.30, 82.82, 83.07]],
        "weighting": [[80.87, 81.76, 82.26], [81.67, 82.60, 82.89], [82.25, 82.84, 83.04]],
    },
    "mnist": {
        "plain": 88.70,
        "upsampling": [[92.32, 92.52, 94.38], [93.12, 94.48, 96.20], [93.96, 96.38, 96.90]],
        "weighting": [[93.26, 93.08, 93.70], [88.94, 94.68, 95.74], [90.24, 96.32, 96.60]],
    },
}
# Tables 11, 6, 10a and 10b: only people with high income have the larger budget.
MINORITY_LABELS = [[90, 95, 101, 109], [93, 108, 132, 162], [96, 129, 172, 225]]
# Accuracy in per cent on people with low and with high income: without individual budgets, then by
# budget and share.
MINORITY = {
    "student": (
        (98.01, 24.78),
        [
            [(95.93, 36.77), (93.11, 45.93), (90.13, 54.74), (86.24, 63.39)],
            [(93.25, 45.91), (86.82, 62.25), (80.57, 72.61), (77.91, 77.36)],
            [(90.42, 54.00), (80.74, 72.68), (76.68, 79.42), (73.82, 83.59)],
        ],
    ),
    "teachers": (
        (92.55, 48.82),
        [
            [(90.08, 56.05), (87.75, 61.70), (85.58, 66.24), (83.62, 69.68)],
            [(87.74, 61.73), (83.57, 69.84), (79.99, 75.46), (76.86, 79.44)],
            [(85.58, 66.12), (79.93, 75.48), (75.48, 81.01), (71.57, 84.79)],
        ],
    ),
    "votes": (
        (97.13, 46.29),
        [
            [(95.21, 55.99), (93.02, 64.11), (91.24, 68.93), (88.59, 74.11)],
            [(93.19, 64.11), (88.71, 73.91), (84.42, 81.14), (81.41, 85.23)],
            [(91.02, 68.55), (84.47, 81.36), (79.99, 86.49), (75.32, 90.22)],
        ],
    ),
}
# Table 1, MNIST, budgets 1, 2, 3: labels and accuracy of the votes, by shares of the levels.
THREE_LEVELS = {
    (34, 43, 23): {
        "plain": (365, 97.40),
        "upsampling": (1333, 97.20),
        "weighting": (1312, 97.24),
    },
    (54, 37, 9): {
        "plain": (361, 97.32),
        "upsampling": (949, 97.18),
        "weighting": (1894, 97.33),
    },
}
# Figure 3: ratio of the costs of two equal groups, by the ratio of their sensitivities.
SENSITIVITY_RATIOS = range(2, 10)
TEACHER_ACCURACY = {"adult": 81.7, "mnist": 90.2}
