"""What a fork server imports before it forks an attempt, besides `program.preload`; slot.

`DistributedDataParallel` and the first optimizer of a process import `torch._dynamo`: 1 to 7 s, in each rank of an
attempt on several devices, and in each interval of a population.
"""

from __future__ import annotations

from podium.sweep.values.assignment import Assignment

OF_TRAINING = ("torch._dynamo",)


def for_attempt(assignment: Assignment) -> tuple[str, ...]:
    """The modules for the process of an attempt; a script imports its own."""
    has_ranks = assignment.gang is not None and assignment.gang.size > 1
    is_script = assignment.program.get("command") is not None
    return OF_TRAINING if (has_ranks or assignment.interval is not None) and not is_script else ()
