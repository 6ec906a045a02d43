"""Programs whose folder has modules of the names of Podium's folders: as a function, and as a script."""

import argparse
from typing import Any

import podium_helpers
from ensemble.combine import combined

from api import SCALE
from sweep import score


def objective(trial: Any) -> float:
    """SCALE * (2 lr + 1) + 0.5."""
    return combined(SCALE * score(trial.params["lr"]), podium_helpers.BONUS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, required=True)
    arguments = parser.parse_args()
    print(f"value={combined(SCALE * score(arguments.lr), podium_helpers.BONUS)!r}")
