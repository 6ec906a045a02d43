"""Checks the sampler and pruner classes of a sweep file, in a process of its own that CLI and api start.

`python -P -m podium.sweep.search.custom_class_check_process PARENT_PID` reads one JSON document on standard input, a
list of `{"kind": "sampler" or "pruner", "class": MODULE:CLASS, "args": {…}}`, and writes a list with an error message
for each class that cannot be used, and null for the others. Output of the classes goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.search.custom_class_loading import load_pruner, load_sampler
from podium.sweep.values.errors import UnusableClassError


def invalid_reason(wanted: Mapping[str, Any]) -> str | None:
    """Why a class cannot be used, or None."""
    construct = load_sampler if wanted["kind"] == "sampler" else load_pruner
    try:
        construct(wanted["class"], wanted["args"])
    except UnusableClassError as error:
        return str(error)
    return None


def main() -> None:
    """Entry point. Answers go to the pipe that was standard output."""
    die_with_parent(int(sys.argv[1]))
    warnings.simplefilter("ignore")
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        json.dump([invalid_reason(wanted) for wanted in json.load(sys.stdin)], answers)


if __name__ == "__main__":
    main()
