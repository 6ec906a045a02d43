"""A version of an ensemble at one moment, as predictions read it: members, replicas, combination; all processes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from podium.ensemble.values.ensemble_spec import Mode, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.member_candidate import member_name


@dataclass(frozen=True, slots=True)
class Stacking:
    """A linear model over the members' log-probabilities (classification) or values (regression).

    `coefficients` is (members * inputs, outputs), member by member; `intercept` is (outputs,).
    """

    coefficients: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """How a version combines predictions: the rule and its fitted parameters.

    `weights` are in member order and sum to 1.
    """

    task: Task
    rule: Rule
    weights: tuple[float, ...]
    temperature: float = 1.0  # combined probabilities are raised to 1/temperature
    noise_variance: tuple[float, ...] = ()  # regression: variance of the residuals on the fitting split
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
    """A process that runs a member; in-graph, all members share their replicas."""

    replica_id: int
    state: MemberState
    epoch: int
    endpoint: str | None
    reason: str = ""  # why it is not ready (empty if it is)


@dataclass(frozen=True, slots=True)
class Member:
    """One network of an ensemble, from one trial."""

    member_id: int
    trial_id: int
    replicas: tuple[Replica, ...]
    trial_number: int
    sweep_id: int

    @property
    def name(self) -> str:
        """What people read: `trial 4 of sweep 3`."""
        return member_name(self.trial_number, self.sweep_id)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of an ensemble at one moment; a request uses the snapshot it was admitted with."""

    ensemble_id: int
    name: str
    version: int
    mode: Mode
    quorum: int
    deadline_ms: float
    classes: tuple[str, ...]  # regression: names of the outputs
    features: int
    combination: Combination
    members: tuple[Member, ...]

    @property
    def outputs(self) -> int:
        """Number of columns of a prediction."""
        return len(self.classes)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The versions of an ensemble that serve requests: the active one, and the canary with its share."""

    ensemble_id: int
    name: str
    state: EnsembleState
    active: Snapshot
    canary: Snapshot | None = None
    canary_share: float = 0.0
