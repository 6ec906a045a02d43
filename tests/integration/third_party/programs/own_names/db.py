"""The user's data layer."""


def rate(lr: float) -> float:
    """A value that depends on the parameter."""
    return lr * 2
