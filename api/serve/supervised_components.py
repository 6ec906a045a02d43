"""The components of a service, and what the supervisor knows of each; `podium serve`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from podium.api.serve.child_process import ChildProcess
from podium.sweep.runtime.component_status_reader import STANDS_BY
from podium.sweep.runtime.service_settings import ServiceSettings

FIRST_BACKOFF_S = 0.1
MODULES = {
    "ray": "podium.sweep.ray_cluster.ray_head_guardian",
    "api": "podium.api.rest.main",
    "gateway": "podium.api.gateway.main",
    "scheduler": "podium.sweep.scheduling.main",
    "host": "podium.ensemble.host.main",
    "nodes": "podium.api.node_service.main",  # only with `--cluster`
    "notifier": "podium.api.notifications.main",  # only with `--notify`
    "leadership": "podium.api.serve.leadership_process",  # only with PostgreSQL
}
AFTER_RAY = ("gateway", "host")  # first started when Ray is ready: until then, Ray and its template need the cores
ON_RAY = ("scheduler",)  # read Ray's address from standard input, and end with Ray
LEADER_ELECTED = ("scheduler", "host")  # read the epoch of the lease from standard input, when their service leads
LEADER_ONLY = ("notifier",)  # first started when the service leads


@dataclass(slots=True)
class Component:
    """A component of the service and its process."""

    name: str
    kind: str  # key of `MODULES`; several gateways have different names
    process: ChildProcess | subprocess.Popen[bytes] | None = None
    stdin_fd: int | None = None  # writes to its standard input
    ready_fd: int | None = None
    ready: bool = False
    silent: bool = False
    ever_ready: bool = False
    restarts: int = 0
    failed_starts: int = 0  # before it was ever ready
    started_s: float = 0.0
    backoff_s: float = FIRST_BACKOFF_S
    due_s: float | None = field(default=0.0)  # start time; None while it runs or waits for Ray
    stands_by: bool = False  # whether it waits until its service leads
    has_address: bool = False  # whether it was sent that of Ray
    has_epoch: bool = False  # whether it was sent that of the lease

    @property
    def state(self) -> str:
        if self.stands_by:
            return STANDS_BY
        if self.process is None:
            return "waiting"
        if self.ready and self.silent:
            return "silent"
        return "ready" if self.ready else "starting"


def components_of(settings: ServiceSettings) -> Iterator[Component]:
    """The components of a service."""
    needs = {"nodes": settings.cluster, "notifier": settings.notify, "leadership": settings.database_url_file}
    for kind in MODULES:
        if kind in needs and not needs[kind]:
            continue
        for name in settings.gateway_names if kind == "gateway" else (kind,):
            yield Component(name, kind)


def of_kinds(components: Mapping[str, Component], kinds: Sequence[str]) -> list[Component]:
    """The components of these kinds, in the order of the kinds."""
    return [component for kind in kinds for component in components.values() if component.kind == kind]
