"""A module of it."""


def combined(*values: float) -> float:
    """Their sum."""
    return sum(values)
