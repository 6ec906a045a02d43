"""Check the results of `podium demo`: `check_demo.py DATA_DIRECTORY/demo.json`; run by .ci/run.

Exits with 1 and prints one line for each violated condition.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

TRIALS = 24
MAX_DIFFERENCE = 1e-6
COUNTS = ("trials_total", "trials_finished", "trials_pruned", "trials_failed")
ACCURACIES = ("best_single_test_accuracy", "in_graph_test_accuracy", "between_graph_test_accuracy")
NUMBERS = ("max_abs_difference_between_modes", "wall_s", "device_busy_share")


def main() -> int:
    """Print the problems, or one line of results."""
    path = Path(sys.argv[1])
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        print(f"cannot read the demo's results in {path}: {error}", file=sys.stderr)
        return 1
    problems = shape_problems(result) or value_problems(result)
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    if problems:
        return 1
    print(
        f"demo: {result['trials_finished']} finished, {result['trials_pruned']} pruned, "
        f"{result['trials_failed']} failed; test accuracy {result['best_single_test_accuracy']:.4f} for the best "
        f"network, {result['in_graph_test_accuracy']:.4f} in-graph, {result['between_graph_test_accuracy']:.4f} "
        f"between-graph; {result['wall_s']:.1f} s, devices busy {result['device_busy_share']:.0%}"
    )
    return 0


def shape_problems(result: Any) -> list[str]:
    """Missing keys, and values of the wrong type."""
    if not isinstance(result, dict):
        return ["the result is not a JSON object"]
    problems = [f"{key} must be a count, not {result.get(key)!r}" for key in COUNTS if not is_count(result.get(key))]
    problems += [
        f"{key} must be a number, not {result.get(key)!r}"
        for key in ACCURACIES + NUMBERS
        if not is_number(result.get(key))
    ]
    if not is_numbers(result.get("ensemble_minus_best_ci95"), 2):
        problems.append(f"ensemble_minus_best_ci95 must be two numbers, not {result.get('ensemble_minus_best_ci95')!r}")
    members = result.get("member_test_accuracies", [0.0])
    if not isinstance(members, list) or not members or not is_numbers(members, len(members)):
        problems.append(f"member_test_accuracies must be numbers, not {members!r}")
    if not isinstance(result.get("data_dir"), str) or not result["data_dir"]:
        problems.append(f"data_dir must be the path of a folder, not {result.get('data_dir')!r}")
    return problems


def value_problems(result: dict[str, Any]) -> list[str]:
    """Impossible values, and values that miss the targets."""
    problems = []
    ended = result["trials_finished"] + result["trials_pruned"] + result["trials_failed"]
    if result["trials_total"] != TRIALS:
        problems.append(f"{result['trials_total']} trials instead of {TRIALS}")
    if ended != result["trials_total"]:
        problems.append(f"{ended} trials ended (finished, pruned or failed) of {result['trials_total']}")
    problems += [
        f"{key} is {result[key]}, expected a share from 0 to 1"
        for key in (*ACCURACIES, "device_busy_share")
        if not share(result[key])
    ]
    low, high = result["ensemble_minus_best_ci95"]
    if low > high:
        problems.append(f"ensemble_minus_best_ci95: the lower bound {low} exceeds the upper bound {high}")
    if not 0 <= result["max_abs_difference_between_modes"] <= MAX_DIFFERENCE:
        problems.append(
            f"the two modes differ by {result['max_abs_difference_between_modes']}, more than {MAX_DIFFERENCE}"
        )
    if result["wall_s"] <= 0:
        problems.append(f"wall_s is {result['wall_s']}")
    return problems + member_problems(result)


def member_problems(result: dict[str, Any]) -> list[str]:
    """Ensembles with a lower accuracy than their median member."""
    if "member_test_accuracies" not in result:
        return []
    median = statistics.median(result["member_test_accuracies"])
    return [
        f"{key} is {result[key]}, below the median member's {median}"
        for key in ("in_graph_test_accuracy", "between_graph_test_accuracy")
        if result[key] < median
    ]


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_numbers(value: object, length: int) -> bool:
    return isinstance(value, list) and len(value) == length and all(is_number(item) for item in value)


def share(value: float) -> bool:
    return 0 <= value <= 1


if __name__ == "__main__":
    sys.exit(main())
