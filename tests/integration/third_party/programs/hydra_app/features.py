"""The inputs of the regression."""

import numpy as np


def polynomial(x, degree):
    return np.stack([x**power for power in range(degree + 1)], axis=1)
