"""Measures processor time of a process and its descendants, by kind of process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

Naming = Callable[[psutil.Process], str]


def used_s(root: int, name: Naming) -> dict[str, float]:
    """Seconds so far of each kind of process below `root`, including itself; processes that have ended are excluded."""
    found: dict[str, float] = defaultdict(float)
    top = psutil.Process(root)
    for process in [top, *top.children(recursive=True)]:
        try:
            times = process.cpu_times()
            found[name(process)] += times.user + times.system
        except psutil.Error:
            continue
    return found


def descendants(root: int) -> list[psutil.Process]:
    """All processes below `root`; none if it has ended."""
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def named(root: int, name: Naming, wanted: str) -> tuple[int, ...]:
    """The ids of the processes of one kind below `root`; one that ends in the meantime has no kind."""
    found = []
    for process in psutil.Process(root).children(recursive=True):
        with suppress(psutil.Error):
            if name(process) == wanted:
                found.append(process.pid)
    return tuple(found)


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each kind of process between two measurements."""
    return {name: after[name] - before.get(name, 0.0) for name in after}


def shares(used: Mapping[str, float], seconds: float) -> str:
    """The usage in cores, in descending order."""
    return ", ".join(f"{name} {each / seconds:.2f}" for name, each in sorted(used.items(), key=lambda each: -each[1]))
