"""What an ensemble is: the request, its states, and the snapshot that a prediction reads; pure, everywhere."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

DEFAULT_DEADLINE_MS = 1000.0  # Géron 2017, chapter 12: wait so long for the slow one, no longer
DEFAULT_K = 3
MAX_PROCESSES = 256  # of one version


def is_id(name: str) -> bool:
    """Whether it is the id of an ensemble rather than its name: digits alone."""
    return re.fullmatch("[0-9]+", name) is not None


class Mode(StrEnum):
    """How the networks run: one program for all, or a process for each."""

    IN_GRAPH = "in_graph"
    BETWEEN_GRAPH = "between_graph"


class Task(StrEnum):
    """What the networks answer with: probabilities of classes, or values."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Select(StrEnum):
    """How members are chosen from finished trials."""

    TOP_K = "top_k"
    GREEDY = "greedy"
    DIVERSE = "diverse"
    EXPLICIT = "explicit"  # the request names the trials


class Rule(StrEnum):
    """How the members' predictions become one."""

    MEAN = "mean"
    LOGIT_MEAN = "logit_mean"
    WEIGHTED = "weighted"
    MEDIAN = "median"
    TRIMMED_MEAN = "trimmed_mean"
    HARD_VOTE = "hard_vote"
    STACKING = "stacking"


REGRESSION_RULES = frozenset({Rule.MEAN, Rule.WEIGHTED, Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING})


class Placement(StrEnum):
    """Whether a member's device goes on running trials."""

    SHARED = "shared"
    DEDICATED = "dedicated"


class Precision(StrEnum):
    """In what the networks compute; predictions are combined in float32 always."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Split(StrEnum):
    """The rows that no network was trained on, by what they are for."""

    VALIDATION = "validation"  # members are selected on these
    CALIBRATION = "calibration"  # weights, temperature and stacking are fitted on these
    TEST = "test"  # what is reported comes from these


POSTED = "posted"  # instead of a split: rows that came with the request


class EnsembleState(StrEnum):
    """Where an ensemble is in its life."""

    BUILDING = "building"
    WARMING = "warming"
    READY = "ready"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    STOPPED = "stopped"  # on request; it can be started again
    RETIRED = "retired"  # for good


SERVING = frozenset({EnsembleState.READY, EnsembleState.DEGRADED})
WANTED = frozenset(EnsembleState) - {EnsembleState.STOPPED, EnsembleState.RETIRED}


class MemberState(StrEnum):
    """Where a member's process is in its life; the gateway tells `suspect`, `open` and `half_open` apart."""

    STARTING = "starting"
    WARMING = "warming"
    READY = "ready"
    SUSPECT = "suspect"  # it failed or was late just now
    OPEN = "open"  # its breaker is open: it is not asked
    HALF_OPEN = "half_open"  # a probe is under way
    RESTARTING = "restarting"  # its process is gone; the host starts another
    FAILED = "failed"  # it cannot be loaded; starting another would not help
    STOPPED = "stopped"


HOLDING = frozenset(MemberState) - {MemberState.FAILED, MemberState.STOPPED}  # these have a device, or wait for one


TrialIds = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=1000)]


class EnsembleOptions(BaseModel):
    """How networks are chosen, combined and run: what the `ensemble:` block of a sweep file may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(
        None,
        min_length=1,
        max_length=120,
        pattern=r"^[^\x00-\x1f\x7f]*$",  # it is part of a path of the Open Inference Protocol
        description="default: the sweep's, with a number",
    )
    k: int = Field(DEFAULT_K, strict=True, ge=1, le=1000, description="how many members; greedy may take fewer")
    select: Select = Field(Select.TOP_K, description="explicit where `trial_ids` is given")
    bags: int = Field(0, strict=True, ge=0, le=100, description="greedy: repeat on so many random halves of the trials")
    combine: Rule = Field(Rule.MEAN, description="how predictions become one")
    calibrate: bool = Field(
        False, strict=True, description="apply a temperature, fitted on the calibration split, after combining"
    )
    fit_on: Split = Field(Split.CALIBRATION, description="where weights, temperature and stacking are fitted")
    force: bool = Field(False, strict=True, description="allow `fit_on` to be the split that members were selected on")
    mode: Mode = Field(Mode.BETWEEN_GRAPH, description="a process for each network, or one program for all")
    deadline_ms: float = Field(
        DEFAULT_DEADLINE_MS, strict=True, ge=1, le=600_000, description="an answer leaves by then"
    )
    quorum: int | None = Field(
        None, strict=True, ge=1, description="fewer answers than this are an error; default: the majority"
    )
    replicas: int = Field(
        1, strict=True, ge=1, le=64, description="processes of each member, on devices of their own if there are"
    )
    placement: Placement = Field(Placement.SHARED, description="dedicated: their devices run no trials")
    precision: Precision = Field(Precision.FLOAT32, description="what the networks compute in")

    @field_validator("name")
    @classmethod
    def _is_no_id(cls, name: str | None) -> str | None:
        if name is not None and is_id(name):
            raise ValueError(f"{name!r} would be taken for an ensemble's id; add a letter")
        return name

    @model_validator(mode="after")
    def _sound(self) -> EnsembleOptions:
        if self.fit_on is Split.TEST:
            raise ValueError("fit_on: the test split is for the report alone; use calibration")
        if self.fit_on is Split.VALIDATION and not self.force:
            raise ValueError("fit_on: members are selected on validation; use calibration, or force it")
        processes = self.replicas * (self.k if self.mode is Mode.BETWEEN_GRAPH else 1)
        if processes > MAX_PROCESSES:
            raise ValueError(f"replicas: {processes:,} processes are too many; {MAX_PROCESSES} are possible")
        if self.calibrate and self.combine is Rule.STACKING:
            raise ValueError("calibrate: stacking is fitted on these rows already, and a temperature would overfit")
        if self.quorum is not None and self.quorum > self.k:
            raise ValueError(f"quorum: {self.quorum} of {self.k} members can never answer")
        return self


class EnsembleRequest(EnsembleOptions):
    """Build an ensemble, or another version of one: from a sweep's best trials, or from trials named one by one."""

    sweep_id: int | None = Field(
        None, strict=True, ge=1, lt=2**63, description="choose among the finished trials of this sweep"
    )
    trial_ids: TrialIds | None = Field(None, description="or these trials, of one sweep or several")
    weights: list[Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = Field(
        None, description="of the trials in `trial_ids`; default with `weighted`: fitted"
    )

    @model_validator(mode="before")
    @classmethod
    def _named_trials_are_explicit(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("trial_ids"), list):
            values = {"select": Select.EXPLICIT, "k": len(values["trial_ids"] or [0]), **values}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> EnsembleRequest:
        if (self.sweep_id is None) == (self.trial_ids is None):
            raise ValueError("give sweep_id or trial_ids, one of the two")
        if (self.select is Select.EXPLICIT) != (self.trial_ids is not None):
            raise ValueError("select: with trial_ids it is explicit, with sweep_id top_k, greedy or diverse")
        if self.trial_ids is not None and len(set(self.trial_ids)) != len(self.trial_ids):
            raise ValueError("trial_ids: every trial once; a weight counts it more")
        if self.trial_ids is not None and self.k != len(self.trial_ids):
            raise ValueError("k: leave it out where trial_ids says which trials")
        self._check_weights()
        return self

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if self.trial_ids is None or len(self.weights) != len(self.trial_ids):
            raise ValueError("weights: one for each of trial_ids")
        if self.combine in (Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING):
            raise ValueError(f"weights: {self.combine.value} has none")
        if not sum(self.weights) > 0:
            raise ValueError("weights: at least one must be above 0")


class VersionRequest(EnsembleRequest):
    """Another version of an ensemble: it takes over when it is ready, or answers a share as a canary."""

    canary_share: float | None = Field(None, gt=0, lt=1, description="of the requests; default: take over when ready")


def majority(members: int) -> int:
    """The smallest number that is more than half."""
    return members // 2 + 1


@dataclass(frozen=True, slots=True)
class Stacking:
    """A linear model over the members' log-probabilities (classification) or values (regression).

    `coefficients` is (members * inputs, outputs), member by member; `intercept` is (outputs,).
    """

    coefficients: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """How one version combines: the rule and what was fitted for it; `weights` in member order, summing to 1."""

    task: Task
    rule: Rule
    weights: tuple[float, ...]
    temperature: float = 1.0  # probabilities to the power 1/temperature, after combining
    noise_variance: tuple[float, ...] = ()  # regression: of the residuals on the fitting split, per output
    stacking: Stacking | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Combination:
        values = json.loads(text)
        stacking = values.pop("stacking")
        if stacking is not None:
            stacking = Stacking(
                tuple(tuple(row) for row in stacking["coefficients"]), tuple(stacking["intercept"])
            )  # fmt: skip
        return cls(
            task=Task(values["task"]),
            rule=Rule(values["rule"]),
            weights=tuple(values["weights"]),
            temperature=values["temperature"],
            noise_variance=tuple(values["noise_variance"]),
            stacking=stacking,
        )


@dataclass(frozen=True, slots=True)
class Replica:
    """A process that runs a member, as a prediction sees it; in-graph, the members of one process share it."""

    replica_id: int
    state: MemberState
    epoch: int
    endpoint: str | None
    reason: str = ""  # why it is not ready


@dataclass(frozen=True, slots=True)
class Member:
    """A member as a prediction sees it."""

    member_id: int
    trial_id: int
    replicas: tuple[Replica, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of an ensemble as it is at one moment: read once, when a request is admitted."""

    ensemble_id: int
    name: str
    version: int
    mode: Mode
    quorum: int
    deadline_ms: float
    classes: tuple[str, ...]  # regression: the names of the outputs
    features: int
    combination: Combination
    members: tuple[Member, ...]

    @property
    def outputs(self) -> int:
        """Columns of a prediction."""
        return len(self.classes)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Which version of an ensemble answers: the active one, and a share that goes to the canary."""

    ensemble_id: int
    name: str
    state: EnsembleState
    active: Snapshot
    canary: Snapshot | None = None
    canary_share: float = 0.0
