"""The assignment of an attempt to a slot: its identity, parameters, program and limits; every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

Scalar = str | int | float | bool | None
Params = dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one attempt; None means no limit."""

    trial_s: float | None = None  # from the start of the process to its end
    silence_s: float | None = None  # between two reports
    start_s: float | None = 60.0  # from the fork to the first line of user code
    join_s: float = 180.0  # from the start of user code until a rank has connected to the store of its gang
    stall_s: float | None = 300.0  # in which no rank of a gang reports, prints or computes
    grace_s: float = 5.0  # between SIGTERM and SIGKILL
    memory_mb: float | None = None  # of host memory, for the whole process tree
    log_mb: float = 8.0  # of the log; of a longer log, only the beginning and the end are kept
    work_dir_mb: float | None = 1024.0  # working and temporary directories together
    on_timeout: str = "fail"  # or finish: the trial finishes with the values reported until `trial_s`


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval of training that an attempt runs, in a sweep whose trials are trained in intervals."""

    number: int  # from 1
    steps: int | None  # its length; None: until `until`, or until the program ends
    until: int | None = None  # its last step, of a schedule
    after_step: int | None = None  # the last step of the interval before; None: it starts from the beginning
    checkpoint: str | None = None  # folder of the attempt whose checkpoint it starts from
    value: float | None = None  # of the metric, at `after_step`
    first_attempt: int = 1  # of the trial in this interval; later ones continue from its checkpoints
    is_last: bool = False  # the trial finishes at its end

    def end_after(self, first_step: int) -> int | None:
        """The step at whose report it ends, given the first step that the attempt reports; None: not by a step.

        Steps count from 0 if the first report of the trial has step 0, and else from 1.
        """
        if self.steps is None:
            return self.until
        before = self.after_step if self.after_step is not None else -1 if first_step == 0 else 0
        return before + self.steps


@dataclass(frozen=True, slots=True)
class GangPlace:
    """The place of one process in an attempt on several devices: `torchrun`'s numbers, and its devices.

    With one process for all devices, `size` is 1.
    """

    rank: int
    size: int  # the number of ranks
    local_rank: int  # its number on its node
    local_size: int  # the number of ranks on its node
    node_rank: int  # the number of its node
    nodes: int
    run_id: str
    visible: tuple[str, ...]  # of the gang's devices on its node, in the order of local ranks
    uuids: tuple[str | None, ...]
    address: str  # where the ranks meet; of rank 0, on its own machine
    port: int = 0  # 0 for rank 0, which opens one

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GangPlace:
        return cls(**{**values, "visible": tuple(values["visible"]), "uuids": tuple(values["uuids"])})


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a slot and its trial process need to run one attempt; plain values only.

    The scheduler writes paths relative to the data directory. `located` gives those of a machine.
    """

    sweep_id: int
    trial_id: int
    number: int
    attempt: int
    params: Params
    seed: int
    metric: str  # the metric of `report`
    program: dict[str, Any]
    split: dict[str, Any]
    directory: str  # of this attempt: log, work folder, model
    data_cache: str  # memory-mapped data sets, shared by all trials of the machine
    code: str | None = None  # folder of the unpacked bundle
    defined: tuple[str, ...] = ()  # parameters suggested by an earlier attempt or a cloned trial
    prunable: bool = False
    keep_checkpoint: bool = False  # after it has finished
    share: float = 1.0  # of its device
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    objectives: tuple[str, ...] = ()  # the names of the objectives, in order
    goals: tuple[str, ...] = ()  # minimize or maximize, of each objective
    sweep_name: str = ""
    enqueued: Params = field(default_factory=dict)  # values for parameters that the code may suggest
    objective: str = "last"  # last, min or max: which reported value counts if the program returns none
    stop: tuple[tuple[str, float], ...] = ()  # metrics with the values at which they end the trial as finished
    interval: Interval | None = None  # None: the attempt trains until the program ends
    gang: GangPlace | None = None  # of an attempt on several devices

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(self.objectives) or (self.metric,))
        object.__setattr__(self, "goals", tuple(self.goals) or ("minimize",) * len(self.objectives))

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    @property
    def rank(self) -> int:
        """The number of its process; only rank 0 reports, and saves files."""
        return 0 if self.gang is None else self.gang.rank

    def located(self, root: Path) -> Assignment:
        """The assignment with absolute paths, below the data directory `root` of the machine on which it runs."""
        code = None if self.code is None else str(root / self.code)
        interval = self.interval
        if interval is not None and interval.checkpoint is not None:
            interval = replace(interval, checkpoint=str(root / interval.checkpoint))
        return replace(
            self,
            directory=str(root / self.directory),
            data_cache=str(root / self.data_cache),
            code=code,
            interval=interval,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, to be encoded: not copied, since each attempt is encoded several times."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["limits"] = {name: getattr(self.limits, name) for name in self.limits.__slots__}
        if self.interval is not None:
            plain["interval"] = {name: getattr(self.interval, name) for name in self.interval.__slots__}
        if self.gang is not None:
            plain["gang"] = asdict(self.gang)
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assignment:
        defined = tuple(values.get("defined", ()))
        stop = tuple((name, at) for name, at in values.get("stop", ()))
        interval = None if values.get("interval") is None else Interval(**values["interval"])
        gang = None if values.get("gang") is None else GangPlace.from_dict(values["gang"])
        limits = Limits(**values["limits"])
        parts = {"limits": limits, "interval": interval, "gang": gang}
        return cls(**{**values, "defined": defined, "stop": stop, **parts})


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Identifies an attempt; results are accepted only for the current attempt of a trial."""

    trial_id: int
    attempt: int
