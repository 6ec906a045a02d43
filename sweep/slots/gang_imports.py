"""What a fork server imports before it forks the ranks of an attempt on several devices; slot.

`DistributedDataParallel` imports `torch._dynamo` when the first one is constructed: 2 to 7 s, in each rank.
"""

from __future__ import annotations

from podium.sweep.values.assignment import Assignment

DISTRIBUTED = ("torch._dynamo",)


def for_attempt(assignment: Assignment) -> tuple[str, ...]:
    """The modules for the process of an attempt; a script imports its own."""
    if assignment.gang is None or assignment.gang.size == 1 or assignment.program.get("command") is not None:
        return ()
    return DISTRIBUTED
