"""Stops the components of a service in order; the `podium serve` process."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping

from podium.api.serve.supervised_components import ON_RAY, Component, of_kinds
from podium.sweep.ray_cluster import ray_head_guardian
from podium.sweep.runtime.process_trees import kill_orphans

RELEASE_S = 2.0  # of the lease; after that it expires
STOP_S = 7.0  # of the components; Ray's guardian has its own, shorter, limit
_ORDER = ("gateway", "api", "host", "scheduler", "nodes", "notifier")


def stop_components(
    components: Mapping[str, Component],
    *,
    kill: Callable[[Component], None],
    hands_over: bool,
    log: Callable[[str], None],
) -> None:
    """Stop the components: the scheduler kills its trials through Ray; Ray is last.

    Args:
        components: By name.
        kill: Kills a component that runs.
        hands_over: Whether another scheduler continues the trials: one that is terminated ends them all, so this one
            is killed.
        log: Writes a line for the user.
    """
    end_s = time.monotonic() + STOP_S
    if hands_over:
        for component in of_kinds(components, ON_RAY):
            kill(component)
    order = [kind for kind in _ORDER if not (hands_over and kind in ON_RAY)]
    for component in of_kinds(components, order):
        _terminate(component)
    for component in of_kinds(components, order):
        _wait(component, end_s, log)
    for component in of_kinds(components, ("leadership",)):  # when the others write no more: it releases the lease
        _terminate(component)
        _wait(component, time.monotonic() + RELEASE_S, log)
    for component in of_kinds(components, ON_RAY):
        kill(component)
    _terminate(components["ray"])
    _wait(components["ray"], time.monotonic() + 2 * ray_head_guardian.STOP_S, log)
    kill_orphans(set())


def _terminate(component: Component) -> None:
    if component.process is not None and component.process.poll() is None:
        component.process.terminate()


def _wait(component: Component, end_s: float, log: Callable[[str], None]) -> None:
    if component.process is None:
        return
    try:
        component.process.wait(max(0.05, end_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        log(f"{component.name} did not exit in time; killing it")
        component.process.kill()
        component.process.wait()
