"""Attributes the memory and the processor time of a running service to its parts."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

import psutil

Times = dict[tuple[str, int], float]  # by part and process id
_BY_NAME = {
    "podium-trial": "trials",
    "podium-spare": "trials",
    "podium-fork-srv": "fork servers",
    "podium-slot": "slots",
    "podium-member": "members",
    "podium-template": "process templates",
    "podium-ray-tmpl": "process templates",
    "gcs_server": "Ray",
    "raylet": "Ray",
}
_BY_COMMAND = {
    "podium.api.rest": "api",
    "podium.api.gateway": "gateway",
    "podium.sweep.scheduling": "scheduler",
    "podium.ensemble.host": "ensemble host",
    "process_template.template": "process templates",
    "ray::RaySlot": "slots",
    "ray_head_process": "Ray",
    "ray_head_guardian": "Ray",
    "podium.api.cli.app": "serve",
}


def part_of(process: psutil.Process) -> str:
    """The part of the service that a process belongs to; `other` if unknown."""
    name = process.name()
    if name in _BY_NAME:
        return _BY_NAME[name]
    words = " ".join([name, *process.cmdline()])
    return next((part for word, part in _BY_COMMAND.items() if word in words), "other")


def memory_mib(root: int) -> dict[str, float]:
    """PSS by part, in MiB: a page shared by several processes counts once."""
    found: dict[str, float] = defaultdict(float)
    for process in _tree(root):
        with suppress(psutil.Error):
            found[part_of(process)] += process.memory_full_info().pss / (1 << 20)
    return dict(found)


def processor_s(root: int) -> Times:
    """Processor seconds of each process so far. Children that have ended count for the process that waited for them."""
    found: Times = {}
    for process in _tree(root):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total = times.user + times.system + times.children_user + times.children_system
            found[part_of(process), process.pid] = total
    return found


def used_s(before: Times, after: Times) -> dict[str, float]:
    """Processor seconds by part between two measurements, of the processes that still run."""
    found: dict[str, float] = defaultdict(float)
    for (part, pid), seconds in after.items():
        found[part] += seconds - before.get((part, pid), 0.0)
    return dict(found)


def count(root: int, part: str) -> int:
    """The number of processes of a part."""
    found = 0
    for process in _tree(root):
        with suppress(psutil.Error):
            found += part_of(process) == part
    return found


def _tree(root: int) -> list[psutil.Process]:
    top = psutil.Process(root)
    return [top, *top.children(recursive=True)]
