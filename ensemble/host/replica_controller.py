"""Reconciles replicas with the database: adopts, places, watches, restarts and stops their processes; host process.

Each action is written to the database before it is carried out, so that a restarted host finds every process by its
name: the epoch of a replica increases with each process that is started for it.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from podium.db.schema.database import Database
from podium.db.stores import devices, ensemble_reader, ensemble_writer, event_outbox, member_replicas, nodes
from podium.db.stores.event_outbox import NewEvent
from podium.ensemble.building.saved_trial_outputs import model_path
from podium.ensemble.host import member_placement
from podium.ensemble.host.desired_replicas import ReplicaKey, ReplicaSpec
from podium.ensemble.host.live_replica import STABLE_S, LiveReplica, restart_delay_s
from podium.ensemble.host.member_placement import DeviceOccupancy
from podium.ensemble.host.precision_decisions import worker_threads
from podium.ensemble.host.worker_launcher_interface import WorkerConfig, WorkerHandle, WorkerLauncher, WorkerStatus
from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.values.ensemble_spec import Mode, Placement, Precision
from podium.ensemble.values.ensemble_states import HOLDING_STATES, MemberState
from podium.ensemble.worker.control_messages import Phase, WorkerAssignment
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.component_startup_and_heartbeats import wake_component
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.device import node_name, shared_id
from podium.sweep.values.device_state import USABLE_DEVICE_STATES, DeviceState
from podium.sweep.values.errors import DatabaseError, EnsembleError

_PLACED_STATES = frozenset({MemberState.STARTING, MemberState.WARMING, MemberState.READY})
log = logging.getLogger("podium.replicas")


class ReplicaController:
    """Compares the desired replicas in the database with the existing processes, and acts on the difference."""

    def __init__(
        self, settings: ServiceSettings, database: Database, launcher: WorkerLauncher, clock: Clock, *,
        on_change: Callable[[], None], jitter: Callable[[], float] = random.random,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._database = database
        self._launcher = launcher
        self._clock = clock
        self._on_change = on_change
        self._jitter = jitter
        self._live: dict[ReplicaKey, LiveReplica] = {}
        self._reconciled_before = False

    def reconcile(self, specs: Sequence[ReplicaSpec], running: Collection[int]) -> bool:
        """Act on the difference between desired and actual state. Returns whether the database changed.

        `running` are the ids of the replicas that the database does not list as stopped.
        """
        if not self._reconciled_before:
            self._launcher.kill_all_except({spec.name(spec.epoch) for spec in specs if spec.state in _PLACED_STATES})
            self._reconciled_before = True
        changed = self._stop_unwanted(specs, running)
        for spec in specs:
            changed |= self._reconcile(spec)
        return changed

    def _reconcile(self, spec: ReplicaSpec) -> bool:
        """Reconcile one replica. A failure is logged and does not affect the other replicas."""
        try:
            live = self._live.get(spec.key) or self._adopt(spec)
            live.spec, live.unwanted_since_s = spec, None
            return self._start_if_due(live) if live.worker is None else self._watch(live, live.worker)
        except DatabaseError:
            raise
        except Exception:
            log.exception("cannot reconcile %s; retrying", spec.name(spec.epoch))
            return False

    def idle_s(self, at_most: float) -> float:
        """Seconds until the next restart is due, at most `at_most`."""
        now_s = self._clock.monotonic_s()
        waits_s = [live.restart_at_s - now_s for live in self._live.values() if live.worker is None]
        return max(0.0, min([at_most, *(wait_s for wait_s in waits_s if wait_s > 0)]))

    # Replicas that are no longer needed.

    def _stop_unwanted(self, specs: Sequence[ReplicaSpec], running: Collection[int]) -> bool:
        """Kill processes that have drained, and mark replicas without a spec or process as stopped."""
        wanted = {spec.key for spec in specs}
        for key, live in [(key, live) for key, live in self._live.items() if key not in wanted]:
            if live.has_drained(self._clock.monotonic_s()):
                live.kill()
                del self._live[key]
        kept = {replica.id for spec in specs for replica in spec.replicas}
        kept |= {replica.id for live in self._live.values() for replica in live.spec.replicas}
        orphans = [replica_id for replica_id in running if replica_id not in kept]
        if orphans:
            with self._database.write() as connection:
                for replica_id in orphans:
                    member_replicas.change(
                        connection, replica_id, MemberState.STOPPED, device_id=None, more_devices="[]", node=None,
                        pid=None, endpoint=None,
                    )  # fmt: skip
        return bool(orphans)

    # Replicas without a process.

    def _adopt(self, spec: ReplicaSpec) -> LiveReplica:
        """Track a new spec; its process may exist already, started by an earlier host."""
        live = self._live[spec.key] = LiveReplica(spec, since_s=self._clock.monotonic_s())
        assigned = self._assigned_devices(spec, self._occupancy(spec))
        if spec.epoch and spec.state in _PLACED_STATES and assigned:
            live.sharing = [replica.reason for replica in spec.replicas]
            live.worker = self._launcher.find(self._config(spec, assigned, spec.epoch), self._on_change)
        return live

    def _start_if_due(self, live: LiveReplica) -> bool:
        spec = live.spec
        if spec.state is MemberState.FAILED or self._clock.monotonic_s() < live.restart_at_s:
            return False
        if waiting := _undecided(spec):
            return self._wait(spec, waiting, [])
        chosen = self._choose(spec)
        if not chosen:
            return self._wait(spec, _no_device(spec), [])
        busy = dict.fromkeys(device.device_id for device in chosen if not device.free_of_trials)
        if spec.version.placement is Placement.DEDICATED and busy:
            return self._reserve(spec, chosen, f"waiting for {', '.join(busy)} to be free of trials")
        self._start(live, chosen)
        return True

    def _choose(self, spec: ReplicaSpec) -> list[DeviceOccupancy]:
        usable = [device for device in self._occupancy(spec) if device.usable]
        dedicated = spec.version.placement is Placement.DEDICATED
        reserved = self._assigned_devices(spec, usable) if dedicated and spec.state in HOLDING_STATES else []
        if reserved:
            return reserved
        if spec.version.devices > 1:
            (member_id,) = spec.member_ids
            return member_placement.place_span(usable, member_id, spec.version.devices, dedicated=dedicated)
        place = member_placement.place_dedicated if dedicated else member_placement.place_shared
        return place(usable, spec.member_ids)

    def _reserve(self, spec: ReplicaSpec, chosen: list[DeviceOccupancy], reason: str) -> bool:
        """Write the devices to the database, so that the scheduler drains them; the start is tried again later."""
        if not self._wait(spec, reason, [device.device_id for device in chosen]):
            return False
        wake_component(self._settings.runtime.wake_socket("scheduler"))
        return True

    def _wait(self, spec: ReplicaSpec, reason: str, device_ids: Sequence[str]) -> bool:
        state = MemberState.RESTARTING if spec.state is MemberState.RESTARTING else MemberState.STARTING
        by_replica = _by_replica(spec, device_ids)
        before = [(replica.state, replica.reason, replica.device_ids) for replica in spec.replicas]
        if before == [(state, reason, tuple(own)) for own in by_replica]:
            return False
        with self._database.write() as connection:
            for replica, own in zip(spec.replicas, by_replica, strict=True):
                member_replicas.change_devices(
                    connection, replica.id, state=state, reason=reason, device_ids=own, pid=None, endpoint=None
                )
        return True

    def _start(self, live: LiveReplica, chosen: list[DeviceOccupancy]) -> None:
        spec = live.spec
        config = self._config(spec, chosen, spec.epoch + 1)
        reason = spec.replicas[0].reason if spec.state is MemberState.RESTARTING else ""
        with self._database.write() as connection:
            for replica, own in zip(spec.replicas, _by_replica(spec, config.device_ids), strict=True):
                member_replicas.change_devices(
                    connection, replica.id, state=MemberState.STARTING, reason=reason, device_ids=own, node=config.node,
                    pid=None, epoch=config.assignment.epoch, endpoint=config.assignment.endpoint or None,
                )  # fmt: skip
        live.enter(Phase.STARTING, self._clock.monotonic_s())
        live.sharing = _sharing(spec, chosen)
        try:
            live.worker = self._launcher.launch(config, self._on_change)
        except EnsembleError as error:
            self._schedule_restart(live, str(error))

    def _config(self, spec: ReplicaSpec, chosen: Sequence[DeviceOccupancy], epoch: int) -> WorkerConfig:
        version = spec.version
        visible = list(dict.fromkeys(device.visible for device in chosen if device.visible))
        node = node_name(chosen[0].device_id)
        data = self._settings.data
        indexes = [visible.index(device.visible) if device.visible else 0 for device in chosen]
        files = tuple(
            ModelFile(
                path=_path_for(data, model_path(data, member.files), node),
                sha256=member.files.model_sha256 or "",
                device_index=stages[0],
                data_dir=str(data.root),
                precision=(member.precision or Precision.FLOAT32).value,
                stages=tuple(stages) if len(stages) > 1 else (),
                trial=member.name,
            )
            for member, stages in zip(spec.members, _by_replica(spec, indexes), strict=True)
        )
        assignment = WorkerAssignment(
            name=spec.name(epoch),
            files=files,
            in_graph=version.mode is Mode.IN_GRAPH,
            endpoint=self._endpoint(spec, epoch, node),
            epoch=epoch,
            features=version.features,
            combination=version.combination.to_json(),
            threads=worker_threads(version),
        )
        return WorkerConfig(
            assignment, tuple(device.device_id for device in chosen), node=chosen[0].node, visible=",".join(visible)
        )

    def _endpoint(self, spec: ReplicaSpec, epoch: int, node: str) -> str:
        """ "" on another machine: there, the worker chooses a port and reports the endpoint when it is ready."""
        if node:
            return ""
        return unix_endpoint(self._settings.runtime.replica_socket(spec.replicas[0].id, epoch))

    def _occupancy(self, spec: ReplicaSpec) -> list[DeviceOccupancy]:
        """The devices that may hold the members, with the members on them other than those of this replica.

        In-graph, these are the devices of this machine: one process needs all of them.
        """
        in_graph = spec.version.mode is Mode.IN_GRAPH
        siblings = {member.id for member in spec.version.members}
        own = {replica.id for replica in spec.replicas}
        member_ids: dict[str, list[int]] = {}
        with self._database.read() as connection:
            hosts = {"", *(() if in_graph else nodes.for_members(connection))}
            slots = [device for device in devices.all_of(connection) if node_name(device.id) in hosts]
            found = [device for device in slots if shared_id(device.id) == device.id]
            busy = {shared_id(device.id) for device in slots if device.trial_id is not None}
            dedicated = member_replicas.dedicated(connection)
            for row in ensemble_reader.wanted(connection):
                for member in [member for version in row.versions.values() for member in version.members]:
                    for replica in member.replicas:
                        if replica.state in HOLDING_STATES and replica.id not in own:
                            for device_id in replica.device_ids:
                                member_ids.setdefault(device_id, []).append(member.id)
        by_node: Counter[str] = Counter()
        for device_id, ids in member_ids.items():
            by_node[node_name(device_id)] += sum(member_id in siblings for member_id in ids)
        return [
            DeviceOccupancy(
                device_id=device.id,
                kind=device.kind,
                node=device.node,
                visible=device.visible,
                member_ids=tuple(member_ids.get(device.id, ())),
                dedicated=device.id in dedicated,
                runs_trial=device.id in busy,
                reserved=device.state is DeviceState.DEDICATED,
                usable=device.state in USABLE_DEVICE_STATES | {DeviceState.DEDICATED},
                siblings=by_node[node_name(device.id)],
            )
            for device in found
        ]

    @staticmethod
    def _assigned_devices(spec: ReplicaSpec, known: Sequence[DeviceOccupancy]) -> list[DeviceOccupancy]:
        """The devices that the database assigns to the members; empty unless all of them are known."""
        by_id = {device.device_id: device for device in known}
        wanted = [device_id for replica in spec.replicas for device_id in replica.device_ids]
        assigned = [by_id[device_id] for device_id in wanted if device_id in by_id]
        return assigned if len(assigned) == len(spec.replicas) * spec.version.devices else []

    # Replicas with a process.

    def _watch(self, live: LiveReplica, worker: WorkerHandle) -> bool:
        status, now_s = worker.poll(), self._clock.monotonic_s()
        if status.phase is Phase.EXITED:
            return self._schedule_restart(live, status.reason)
        if status.phase is Phase.LOAD_FAILED:
            return self._fail(live, status.reason)
        if status.phase is not live.phase:
            live.enter(status.phase, now_s)
            return self._record_phase(live, status)
        if (reason := live.timeout_reason(status, now_s)) is not None:
            return self._schedule_restart(live, reason)
        if status.phase is Phase.READY and now_s - live.since_s >= STABLE_S:
            live.failures = 0
        return status.phase is Phase.READY and self._record_plan(live, status)

    def _record_phase(self, live: LiveReplica, status: WorkerStatus) -> bool:
        spec = live.spec
        if status.phase is Phase.WARMING and spec.state is MemberState.STARTING:
            self._write(spec, MemberState.WARMING, spec.replicas[0].reason)
            return True
        if status.phase is not Phase.READY:
            return False
        with self._database.write() as connection:
            for replica, sharing in zip(spec.replicas, live.sharing, strict=True):
                listens = {"endpoint": status.endpoint} if status.endpoint else {}
                member_replicas.change(connection, replica.id, MemberState.READY, sharing, pid=status.pid, **listens)
            if status.plan and status.plan != spec.version.plan:
                ensemble_writer.set_plan(connection, spec.key.ensemble_id, spec.version.number, dict(status.plan))
        live.plan = status.plan
        return True

    def _record_plan(self, live: LiveReplica, status: WorkerStatus) -> bool:
        """Record the execution plans when they change, which they do if they are prepared after the worker is ready."""
        if status.plan == live.plan:
            return False
        key = live.spec.key
        with self._database.write() as connection:
            ensemble_writer.set_plan(connection, key.ensemble_id, key.version, dict(status.plan))
        live.plan = status.plan
        return True

    def _schedule_restart(self, live: LiveReplica, reason: str) -> bool:
        """The process has exited or does not respond: kill it and start another one after a delay."""
        live.failures += 1
        delay_s = restart_delay_s(live.failures, self._jitter())
        log.warning("%s failed (%s); restarting in %.1f s", live.spec.name(live.spec.epoch), reason, delay_s)
        live.restart_at_s = self._clock.monotonic_s() + delay_s
        restarts = live.spec.replicas[0].restarts + 1
        self._write(live.spec, MemberState.RESTARTING, reason, pid=None, endpoint=None, restarts=restarts)
        live.kill()
        return True

    def _fail(self, live: LiveReplica, reason: str) -> bool:
        """Its networks cannot be loaded: a restart would not help."""
        log.error("%s failed to load: %s", live.spec.name(live.spec.epoch), reason)
        self._write(live.spec, MemberState.FAILED, reason, pid=None, endpoint=None)
        live.kill()
        return True

    def _write(self, spec: ReplicaSpec, state: MemberState, reason: str = "", **values: object) -> None:
        """Write the state; that a member restarts or failed is also an event of the ensemble."""
        with self._database.write() as connection:
            for replica in spec.replicas:
                member_replicas.change(connection, replica.id, state, reason, **values)
            if state in (MemberState.RESTARTING, MemberState.FAILED):
                positions = [member.position for member in spec.members]
                payload = {"version": spec.key.version, "members": positions, "reason": reason}
                kind = f"ensemble.member_{state.value}"
                event = NewEvent(self._clock.wall_s(), kind, ensemble_id=spec.key.ensemble_id, payload=payload)
                event_outbox.add(connection, [event])


def _undecided(spec: ReplicaSpec) -> str:
    """What is still measured before the process can start; empty if nothing is."""
    wanted = dict.fromkeys(member.requested_precision.value for member in spec.members if member.precision is None)
    return f"measuring {', '.join(wanted)} on calibration rows" if wanted else ""


_T = TypeVar("_T")


def _by_replica(spec: ReplicaSpec, of_devices: Sequence[_T]) -> list[list[_T]]:
    """What belongs to the devices of each replica; empty lists if there are no devices."""
    each = spec.version.devices if of_devices else 0
    return [list(of_devices[each * number : each * (number + 1)]) for number in range(len(spec.replicas))]


def _sharing(spec: ReplicaSpec, chosen: Sequence[DeviceOccupancy]) -> list[str]:
    notes = member_placement.sharing_notes(chosen, [member.id for member in spec.version.members])
    return ["; ".join(filter(None, of_one)) for of_one in _by_replica(spec, notes)]


def _no_device(spec: ReplicaSpec) -> str:
    if spec.version.devices > 1:
        return f"no machine has {spec.version.devices} devices of one kind that are ready"
    if spec.version.mode is Mode.IN_GRAPH:
        return "no device of this machine is ready"
    return "no device is ready"


def _path_for(data: DataDirectory, path: Path, node: str) -> str:
    """The path of a file on the head; for a node, its key in the store of the head."""
    return data.relative(path) if node else str(path)
