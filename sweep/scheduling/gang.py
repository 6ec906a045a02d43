"""The devices and ranks of one attempt on several devices, and how it ends. Pure; scheduler process.

Any rank's failure ends the attempt, with the cause of the rank that failed first. When a rank is killed, the others
report a lost connection within milliseconds, often before the slot of the killed rank knows of its death. So a lost
connection is the cause only if no rank fails otherwise within `LOST_WAIT_S`. The result is that of rank 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from podium.sweep.lifecycle.stored_sweeps import StoredRank
from podium.sweep.spec.resources import Resources
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE
from podium.sweep.values.device import GangDevice
from podium.sweep.values.failure_cause_detection import is_lost_connection
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

LOST_WAIT_S = 0.4


@dataclass(slots=True, eq=False)
class Gang:
    """The devices of an attempt in the order of its ranks. Only its own methods change it.

    `processes`: the number of ranks with a process: one for each device, or one for all.
    """

    devices: tuple[GangDevice, ...]
    processes: int
    sent: bool = False  # the slots of ranks above 0 have the command to start theirs
    ended: dict[int, Ended] = field(default_factory=dict)  # by rank, in the order of arrival
    idle: set[int] = field(default_factory=set)  # ranks that neither report, print nor compute
    stop_s: float = math.inf  # when the ranks that still run are killed; monotonic
    killed: bool = False

    @classmethod
    def of(cls, devices: Iterable[GangDevice], wanted: Resources) -> Gang:
        """The gang of an attempt that gets these devices."""
        found = tuple(devices)
        return cls(found, len(found) if wanted.several and wanted.processes == "per_device" else 1)

    @classmethod
    def restored(cls, ranks: Sequence[StoredRank], wanted: Resources) -> Gang:
        """The gang of an attempt from the database. If a rank has failed, the others are to be killed."""
        gang = cls.of((rank.device for rank in ranks), wanted)
        gang.sent = True
        gang.ended = {number: rank.ended for number, rank in enumerate(ranks) if rank.ended is not None}
        if 0 in gang.ended or any(True for _ in gang._failures()):
            gang.stop_s = 0.0
        return gang

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self.devices)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its nodes, in the order of the ranks."""
        return tuple(dict.fromkeys(device.node for device in self.devices))

    def rank_on(self, device_id: str) -> int | None:
        """The rank of a device."""
        return next((rank for rank, each in enumerate(self.devices) if each.device_id == device_id), None)

    def has(self, device_id: str) -> bool:
        """Whether a device is one of its devices."""
        return self.rank_on(device_id) is not None

    @property
    def running(self) -> list[int]:
        """The ranks with a process that has not ended, as far as is known."""
        started = range(self.processes if self.sent else 1)
        return [rank for rank in started if rank not in self.ended]

    @property
    def is_over(self) -> bool:
        """Whether all its processes have ended."""
        return not self.running

    @property
    def is_stalled(self) -> bool:
        """Whether all its ranks are idle: each waits for another one."""
        running = self.running
        return self.processes > 1 and not self.killed and bool(running) and self.idle.issuperset(running)

    # What happens.

    def send(self) -> None:
        """Record that the slots of ranks above 0 get the command to start theirs."""
        self.sent = True

    def set_idle(self, rank: int, idle: bool) -> None:
        """Record whether a rank is idle."""
        if idle:
            self.idle.add(rank)
        else:
            self.idle.discard(rank)

    def end(self, rank: int, event: Ended, now_s: float, grace_s: float) -> bool:
        """Record the end of a rank; False if it was known. The others end by themselves, or are killed at `stop_s`."""
        if rank in self.ended:
            return False
        self.ended[rank] = event
        if event.state in COUNTED_TRIAL_STATES:
            due_s = now_s + grace_s if rank == 0 else math.inf
        else:
            due_s = now_s + (LOST_WAIT_S if is_lost_connection(event) else 0.0)
        self.stop_s = min(self.stop_s, due_s)
        return True

    def kill(self) -> None:
        """Record that the ranks that still run are being killed."""
        self.killed = True

    def due(self, now_s: float) -> bool:
        """Whether the ranks that still run are to be killed now; once."""
        if self.killed or now_s < self.stop_s:
            return False
        self.killed = True
        return True

    # Its end.

    def outcome(self) -> Ended:
        """The end of the attempt: of rank 0, or of the rank that failed first."""
        lead, failures = self.ended[0], list(self._failures())
        genuine = [each for each in failures if not is_lost_connection(each[1])]
        if lead.state in COUNTED_TRIAL_STATES:
            before = list(self.ended).index(0)
            if not any(list(self.ended).index(rank) < before for rank, _ in genuine):
                return _with_remark(lead, genuine)
        if not failures:
            return lead
        rank, failure = (genuine or failures)[0]
        return replace(
            failure,
            started_at=lead.started_at,
            ended_at=max(event.ended_at for event in self.ended.values()),
            value=None,
            values=None,
            message=f"rank {rank}: {failure.message}"[:MAX_MESSAGE],
            pid=lead.pid,
            orphans_killed=sum(event.orphans_killed for event in self.ended.values()),
            constraints=lead.constraints,
            user_attrs=lead.user_attrs,
        )

    def failed_rank(self) -> int:
        """The rank whose failure is the cause; 0 if none failed."""
        failures = list(self._failures())
        genuine = [each for each in failures if not is_lost_connection(each[1])]
        return (genuine or failures)[0][0] if failures else 0

    def _failures(self) -> Iterable[tuple[int, Ended]]:
        """The ranks that failed by themselves, in the order of arrival."""
        for rank, event in self.ended.items():
            interrupted = event.state is TrialState.CANCELLED and event.cause is not Cause.CANCELLED
            if event.state is TrialState.FAILED or interrupted:
                yield rank, event


def _with_remark(lead: Ended, failures: list[tuple[int, Ended]]) -> Ended:
    """The result of rank 0, which names a rank that failed after it."""
    if not failures:
        return lead
    rank, failure = failures[0]
    remark = f"rank {rank} failed after rank 0 had ended: {failure.message}"
    return replace(lead, message="; ".join(filter(None, [lead.message, remark]))[:MAX_MESSAGE])
