"""The REST responses about sweeps; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

Params: TypeAlias = dict[str, Any]  # by name: boolean, integer, float, string or None


class BestTrialInfo(TypedDict):
    """One of the best trials of a sweep."""

    trial_id: int
    number: int
    value: float  # of the first objective
    values: dict[str, float] | None  # by metric, with several objectives
    pareto: bool | None  # with several objectives: whether it is on the Pareto front
    params: Params


class WarmStartInfo(TypedDict):
    """The trials of earlier sweeps that the search started from."""

    trials: int
    dropped: int  # do not fit the parameters
    why: list[str]
    left_out: int


class SpendingInfo(TypedDict):
    """Used and allowed amount of a resource; None: unlimited."""

    used: float
    allowed: float | None


class PlateauInfo(TypedDict):
    """Consecutive trials without improvement, and how many are allowed."""

    used: int
    allowed: int
    min_delta: float


class TargetInfo(TypedDict):
    """The value that ends the sweep, and the number of the trial that reached it."""

    value: float
    reached_by: int | None


class BudgetInfo(TypedDict):
    """What a sweep has used of its budget."""

    wall_s: SpendingInfo
    device_s: SpendingInfo
    plateau: PlateauInfo | None
    target: TargetInfo | None


class WarningInfo(TypedDict):
    """A warning of a sweep."""

    code: str
    message: str
    at: str | None


class ProvenanceInfo(TypedDict):
    """Where a sweep was submitted from; None: unknown."""

    git_commit: str | None
    git_dirty: bool | None
    command: list[str]
    packages_sha256: str | None


class LinkedSweepInfo(TypedDict):
    """A sweep that runs before or after another one."""

    id: int
    name: str
    state: str


class FixedInfo(TypedDict):
    """Values that `fix_from` took from the best trial of an earlier sweep."""

    sweep_id: int
    trial_id: int
    number: int
    params: Params


class PopulationInfo(TypedDict):
    """How far the trials of a population are."""

    trials: int  # that have started an interval
    intervals: int  # that have ended
    exploits: int  # that started from the checkpoint of another trial
    fewest: int  # the interval of the trial that is behind all others
    most: int


class RangeOfValueInfo(TypedDict):
    """The range of a parameter in the failed trials with one value of another parameter."""

    value: Any
    min: float
    max: float
    failed: int
    finished: int  # trials with that value from `min` to `max`


class SplitRangeInfo(TypedDict):
    """The parameter whose values separate failed from finished trials best, with a range for each value."""

    parameter: str
    ranges: list[RangeOfValueInfo]


class ParameterSummaryInfo(TypedDict):
    """The values of a parameter in a group of trials."""

    values: list[Any]  # the most frequent ones, at most 4
    distinct: int
    min: float | None  # of numbers; None if another value is among them
    max: float | None
    finished: int | None  # finished trials from `min` to `max`, if there are more than 4 numbers
    split: SplitRangeInfo | None  # if at most 60% of them finished in its ranges


class FailureGroupInfo(TypedDict):
    """Failed trials with the same cause and, apart from numbers, paths and addresses, the same message."""

    cause: str | None
    message: str  # the first line, with placeholders such as `<n>` and `<path>`
    count: int
    devices: dict[str, int]  # failures by device
    params: dict[str, ParameterSummaryInfo]  # of the trials in `trial_ids`
    trial_ids: list[int]  # at most the newest 500
    first_id: int  # the trial with the lowest number
    first_number: int
    first_message: str  # without placeholders
    location: str | None  # file, line and function of the first one
    log: str  # the last lines of the first one


class FailuresInfo(TypedDict):
    """The failed trials of a sweep in groups, the largest first."""

    failed: int
    examined: int  # the newest of them, at most 10,000
    groups: list[FailureGroupInfo]


class SweepInfo(TypedDict):
    """A sweep."""

    id: int
    name: str
    description: str | None  # Markdown; None in lists
    project: str  # "": none
    tags: list[str]
    owner: str  # name of the token that submitted it; "": unknown
    starred: bool  # by the user of this client
    archived: bool
    state: str
    reason: str  # of the state
    wait_reason: str | None  # why it waits: scheduler, disk_full, no_device, …; None: it does not wait
    wait_message: str  # the same for people
    spec: dict[str, Any]  # with the values that `fix_from` took as constants
    value_rule: str  # last, min or max: which report is the value of a trial, if its program returns none
    held: bool  # it waits for its predecessors to finish
    predecessors: list[LinkedSweepInfo]
    successors: list[LinkedSweepInfo]
    fixed: FixedInfo | None
    run_cap: int
    priority: float
    counts: dict[str, int]  # trials by state
    best: BestTrialInfo | None
    ensembles: list[int]
    ensemble_id: int | None  # built for the sweep file's `ensemble:` block
    ensemble_error: str | None
    warm_start: WarmStartInfo | None
    device_busy_share: float | None
    budget: BudgetInfo | None
    devices: list[str]
    eta_s: float | None
    population: PopulationInfo | None  # of a sweep that trains in intervals; None in lists
    versions: dict[str, str] | None
    provenance: ProvenanceInfo
    warnings: list[WarningInfo]
    created_at: str | None
    started_at: str | None
    ended_at: str | None
