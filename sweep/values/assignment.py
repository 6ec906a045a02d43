"""The assignment of an attempt to a slot: its identity, parameters, program and limits; every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    grace_s: float = 5.0  # between SIGTERM and SIGKILL
    memory_mb: float | None = None  # of host memory, for the whole process tree
    log_mb: float = 8.0  # of the log; of a longer log, only the beginning and the end are kept
    work_dir_mb: float | None = 1024.0  # working and temporary directories together
    on_timeout: str = "fail"  # or finish: the trial finishes with the values reported until `trial_s`


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
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    objectives: tuple[str, ...] = ()  # the names of the objectives, in order
    goals: tuple[str, ...] = ()  # minimize or maximize, of each objective
    sweep_name: str = ""
    enqueued: Params = field(default_factory=dict)  # values for parameters that the code may suggest
    objective: str = "last"  # last, min or max: which reported value counts if the program returns none
    stop: tuple[tuple[str, float], ...] = ()  # metrics with the values at which they end the trial as finished

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(self.objectives) or (self.metric,))
        object.__setattr__(self, "goals", tuple(self.goals) or ("minimize",) * len(self.objectives))

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    def located(self, root: Path) -> Assignment:
        """The assignment with absolute paths, below the data directory `root` of the machine on which it runs."""
        code = None if self.code is None else str(root / self.code)
        return replace(self, directory=str(root / self.directory), data_cache=str(root / self.data_cache), code=code)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, to be encoded: not copied, since each attempt is encoded several times."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {"limits": {name: getattr(self.limits, name) for name in self.limits.__slots__}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assignment:
        defined = tuple(values.get("defined", ()))
        stop = tuple((name, at) for name, at in values.get("stop", ()))
        return cls(**{**values, "defined": defined, "stop": stop, "limits": Limits(**values["limits"])})


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Identifies an attempt; results are accepted only for the current attempt of a trial."""

    trial_id: int
    attempt: int
