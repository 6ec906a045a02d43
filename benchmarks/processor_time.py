"""Where processor time goes: of a process and all that it started, by what they are for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

Naming = Callable[[psutil.Process], str]


def used_s(root: int, name: Naming) -> dict[str, float]:
    """Seconds so far of each kind of process under `root`, itself too; those that ended do not count."""
    found: dict[str, float] = defaultdict(float)
    top = psutil.Process(root)
    for process in [top, *top.children(recursive=True)]:
        try:
            times = process.cpu_times()
            found[name(process)] += times.user + times.system
        except psutil.Error:
            continue
    return found


def named(root: int, name: Naming, wanted: str) -> tuple[int, ...]:
    """The ids of the processes of one kind under `root`; one that ends meanwhile is of no kind."""
    found = []
    for process in psutil.Process(root).children(recursive=True):
        with suppress(psutil.Error):
            if name(process) == wanted:
                found.append(process.pid)
    return tuple(found)


def shares(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> str:
    """What was used between, in cores, the most first."""
    cores = {name: (after[name] - before.get(name, 0.0)) / seconds for name in after}
    return ", ".join(f"{name} {used:.2f}" for name, used in sorted(cores.items(), key=lambda each: -each[1]))
