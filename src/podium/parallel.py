"""Train one network by several processes: data parallel, and model parallel; runs in the user's process.

The processes are started by `torchrun`, or by any launcher that sets its variables. Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.sweep.parallel.asynchronous import Asynchronous as Asynchronous
    from podium.sweep.parallel.pipeline import Pipeline as Pipeline
    from podium.sweep.parallel.process_group import Group as Group
    from podium.sweep.parallel.process_group import join as join
    from podium.sweep.parallel.spare_replicas import SynchronousWithSpares as SynchronousWithSpares
    from podium.sweep.parallel.synchronous import Synchronous as Synchronous
    from podium.sweep.values.errors import ParallelError as ParallelError
    from podium.sweep.values.errors import RankLostError as RankLostError

_MODULES = {
    "join": "podium.sweep.parallel.process_group",
    "Group": "podium.sweep.parallel.process_group",
    "Synchronous": "podium.sweep.parallel.synchronous",
    "SynchronousWithSpares": "podium.sweep.parallel.spare_replicas",
    "Asynchronous": "podium.sweep.parallel.asynchronous",
    "Pipeline": "podium.sweep.parallel.pipeline",
    "ParallelError": "podium.sweep.values.errors",
    "RankLostError": "podium.sweep.values.errors",
}
__all__ = [  # noqa: RUF022 - the order of the documentation
    "join",
    "Group",
    "Synchronous",
    "SynchronousWithSpares",
    "Asynchronous",
    "Pipeline",
    "ParallelError",
    "RankLostError",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'podium.parallel' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
