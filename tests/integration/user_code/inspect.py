"""Has the name of a module that every process has already imported."""


def objective(trial: object) -> float:
    return 1.0
