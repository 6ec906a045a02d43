"""The specification of an ensemble: its options, and the requests to build one or a version; all processes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MAX_DEADLINE_MS = 600_000
DEFAULT_DEADLINE_MS = 1000.0  # Géron 2017, chapter 12: do not wait longer for slow members
DEFAULT_K = 3
DEFAULT_MAX_LOSS_INCREASE = 0.01
MAX_PROCESSES = 256  # of one version


def is_id(name: str) -> bool:
    """Whether `name` is an ensemble's id rather than its name: digits only."""
    return name.isascii() and name.isdigit()


class Mode(StrEnum):
    """Whether all networks run as one program, or each in its own process."""

    IN_GRAPH = "in_graph"
    BETWEEN_GRAPH = "between_graph"


class Task(StrEnum):
    """What the networks output: class probabilities, or values."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Select(StrEnum):
    """How members are selected from finished trials."""

    TOP_K = "top_k"
    GREEDY = "greedy"
    DIVERSE = "diverse"
    EXPLICIT = "explicit"  # the request names the trials


class Rule(StrEnum):
    """How the members' predictions are combined."""

    MEAN = "mean"
    LOGIT_MEAN = "logit_mean"
    WEIGHTED = "weighted"
    MEDIAN = "median"
    TRIMMED_MEAN = "trimmed_mean"
    HARD_VOTE = "hard_vote"
    STACKING = "stacking"


REGRESSION_RULES = frozenset({Rule.MEAN, Rule.WEIGHTED, Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING})


class Placement(StrEnum):
    """Whether a member's device also runs trials."""

    SHARED = "shared"
    DEDICATED = "dedicated"


class Precision(StrEnum):
    """What a network is computed in; predictions are always combined in float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"  # on GPUs only
    INT8 = "int8"  # linear layers only; the others stay in float32


class Split(StrEnum):
    """The splits that no network was trained on, by purpose."""

    VALIDATION = "validation"  # for the selection of members
    CALIBRATION = "calibration"  # for fitting weights, temperature and stacking
    TEST = "test"  # for the reported scores


POSTED = "posted"  # in place of a split: rows sent with the request

TrialIds = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=1000)]


class EnsembleOptions(BaseModel):
    """How members are selected, combined and run: the `ensemble:` block of a sweep file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(
        None,
        min_length=1,
        max_length=120,
        pattern=r"^[^\x00-\x1f\x7f]*$",  # used in URL paths of the Open Inference Protocol
        description="default: the sweep's name with a number",
    )
    k: int = Field(DEFAULT_K, strict=True, ge=1, le=1000, description="number of members; greedy may select fewer")
    select: Select = Field(Select.TOP_K, description="how members are selected; explicit if `trial_ids` is given")
    bags: int = Field(
        0,
        strict=True,
        ge=0,
        le=100,
        description="bagging rounds of greedy selection, each on a random half of the trials",
    )
    combine: Rule = Field(Rule.MEAN, description="how predictions are combined")
    calibrate: bool = Field(
        False, strict=True, description="apply a temperature after combining, fitted on the calibration split"
    )
    fit_on: Split = Field(Split.CALIBRATION, description="split on which weights, temperature and stacking are fitted")
    force: bool = Field(False, strict=True, description="allow fitting on the split on which members were selected")
    mode: Mode = Field(
        Mode.BETWEEN_GRAPH, description="between_graph: a process for each network; in_graph: one program for all"
    )
    deadline_ms: float = Field(
        DEFAULT_DEADLINE_MS, strict=True, ge=1, le=MAX_DEADLINE_MS, description="time limit of a prediction"
    )
    quorum: int | None = Field(
        None, strict=True, ge=1, description="minimum number of members that must answer; default: the majority"
    )
    replicas: int = Field(
        1, strict=True, ge=1, le=64, description="processes of each member, on separate devices if available"
    )
    placement: Placement = Field(Placement.SHARED, description="dedicated: the members' devices run no trials")
    devices: int = Field(
        1,
        strict=True,
        ge=1,
        le=64,
        description="devices of each process: its network, an `nn.Sequential`, is split into consecutive stages; "
        "between_graph only",
    )
    precision: Precision | Annotated[list[Precision], Field(min_length=1, max_length=1000)] = Field(
        Precision.FLOAT32,
        description="what the networks are computed in, one for all or a list in member order; int8: linear layers. A "
        "member stays in float32 if its loss rises by more than `max_loss_increase`, or if nothing is gained",
    )
    max_loss_increase: float = Field(
        DEFAULT_MAX_LOSS_INCREASE,
        strict=True,
        ge=0,
        le=10,
        description="by what share a lower precision may raise the loss of a member on the calibration rows",
    )

    @field_validator("name")
    @classmethod
    def _is_no_id(cls, name: str | None) -> str | None:
        if name is not None and is_id(name):
            raise ValueError(f"{name!r} is ambiguous: names of digits only are ensemble ids; add a letter")
        return name

    @model_validator(mode="after")
    def _sound(self) -> EnsembleOptions:
        if self.fit_on is Split.TEST:
            raise ValueError("fit_on: must not be test, which is reserved for reported scores; use calibration")
        if self.fit_on is Split.VALIDATION and not self.force:
            raise ValueError("fit_on: members were selected on validation; use calibration, or set force: true")
        processes = self.replicas * (self.k if self.mode is Mode.BETWEEN_GRAPH else 1)
        if processes > MAX_PROCESSES:
            raise ValueError(f"replicas: {processes:,} processes exceed the limit of {MAX_PROCESSES}")
        if self.calibrate and self.combine is Rule.STACKING:
            raise ValueError("calibrate: cannot be combined with stacking, which is fitted on the same rows")
        if self.quorum is not None and self.quorum > self.k:
            raise ValueError(f"quorum: {self.quorum} exceeds the number of members, k: {self.k}")
        if self.devices > 1 and self.mode is Mode.IN_GRAPH:
            raise ValueError("devices: a member spans several devices with mode: between_graph only")
        if isinstance(self.precision, list) and len(self.precision) != self.k:
            raise ValueError(
                f"precision: {len(self.precision)} values for {self.k} members; give one for all, or one for each"
            )
        return self

    def precision_of(self, position: int) -> Precision:
        """The requested precision of the member at this position."""
        return self.precision[position] if isinstance(self.precision, list) else self.precision


class EnsembleRequest(EnsembleOptions):
    """A request to build an ensemble or a version of one, from a sweep's best trials or from listed trials."""

    sweep_id: int | None = Field(
        None, strict=True, ge=1, lt=2**63, description="select members from the finished trials of this sweep"
    )
    trial_ids: TrialIds | None = Field(None, description="use these trials, of one or several sweeps")
    weights: list[Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = Field(
        None, description="weights of the trials in `trial_ids`; fitted by default for `weighted`"
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
            raise ValueError("set exactly one of sweep_id and trial_ids")
        if (self.select is Select.EXPLICIT) != (self.trial_ids is not None):
            raise ValueError("select: must be explicit with trial_ids, and top_k, greedy or diverse with sweep_id")
        if self.trial_ids is not None and len(set(self.trial_ids)) != len(self.trial_ids):
            raise ValueError("trial_ids: must not contain duplicates; use weights instead")
        if self.trial_ids is not None and self.k != len(self.trial_ids):
            raise ValueError("k: must be omitted or equal the number of trial_ids")
        self._check_weights()
        return self

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if self.trial_ids is None or len(self.weights) != len(self.trial_ids):
            raise ValueError("weights: must have one weight for each of trial_ids")
        if self.combine in (Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING):
            raise ValueError(f"weights: not supported by combine: {self.combine.value}")
        if not sum(self.weights) > 0:
            raise ValueError("weights: at least one must be positive")


class VersionRequest(EnsembleRequest):
    """A request to build another version of an ensemble, which takes over when ready or runs as a canary."""

    canary_share: float | None = Field(
        None, gt=0, lt=1, description="share of the requests for the canary; default: take over when ready"
    )


def float16_problem(options: EnsembleOptions, *, has_gpu: bool) -> str:
    """Why float16 is refused; empty if it is not requested, or can be used."""
    wanted = options.precision if isinstance(options.precision, list) else [options.precision]
    return "" if has_gpu or Precision.FLOAT16 not in wanted else FLOAT16_ON_CPU


FLOAT16_ON_CPU = (
    "float16 is supported on GPUs only: on CPUs it is 6 to 56 times slower than float32; use bfloat16 or int8"
)


def majority(members: int) -> int:
    """The smallest integer greater than half of `members`."""
    return members // 2 + 1
