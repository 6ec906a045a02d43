"""Three clouds of points in the plane."""

import numpy as np


def load(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    points = centers[labels] + rng.normal(size=(rows, 2))
    cut = rows * 2 // 3
    return (points[:cut], labels[:cut]), (points[cut:], labels[cut:])
