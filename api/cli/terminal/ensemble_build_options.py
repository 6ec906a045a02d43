"""Options of `podium ensemble build` and `version add`; CLI."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

Name = Annotated[str, typer.Argument(metavar="ENSEMBLE", help="id or name of an ensemble")]
Names = Annotated[list[str], typer.Argument(metavar="ENSEMBLE...", help="ids or names of ensembles")]
Sweep = Annotated[int | None, typer.Argument(metavar="SWEEP", help="id of the sweep to select from")]
Trials = Annotated[list[int] | None, typer.Option("--trial", metavar="ID", help="id of a trial to include; repeatable")]
K = Annotated[int | None, typer.Option("--members", "-k", metavar="K", help="number of members; default 3")]
Selecting = Annotated[
    Literal["top_k", "greedy", "diverse"] | None, typer.Option("--select", help="selection method; default top_k")
]
Bags = Annotated[
    int | None, typer.Option(metavar="N", help="greedy: bagging rounds on random halves of the trials; default 0")
]
Combining = Annotated[
    Literal["mean", "logit_mean", "weighted", "median", "trimmed_mean", "hard_vote", "stacking"] | None,
    typer.Option("--combine", help="combination rule; default mean"),
]
Weights = Annotated[
    str | None, typer.Option(metavar="W,W,...", help="weights of the --trial ids, in order; default: fitted or equal")
]
Calibrate = Annotated[
    bool | None, typer.Option("--calibrate", help="apply a temperature fitted on the calibration split")
]
FitOn = Annotated[
    Literal["calibration", "validation"] | None,
    typer.Option("--fit-on", help="split to fit weights and temperature on; default calibration"),
]
Force = Annotated[
    bool | None, typer.Option("--force", help="allow fitting on the selection split; flagged in every report")
]
Modes = Annotated[
    Literal["in_graph", "between_graph"] | None,
    typer.Option("--mode", help="one program for all members, or one process each; default between_graph"),
]
DeadlineMs = Annotated[
    float | None,
    typer.Option("--deadline-ms", metavar="MS", help="deadline of an answer; default: set by the service"),
]
Quorum = Annotated[int | None, typer.Option(metavar="N", help="minimum number of answers; default: the majority")]
Replicas = Annotated[int | None, typer.Option(metavar="N", help="processes per member; default 1")]
Placing = Annotated[
    Literal["shared", "dedicated"] | None,
    typer.Option("--placement", help="dedicated: no trials on the same devices; default shared"),
]
Devices = Annotated[
    int | None,
    typer.Option("--devices", metavar="N", help="devices over which a member's layers are split; default 1"),
]
Precise = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="P[,P...]",
        help="float32, bfloat16, float16 or int8, for all members or for each; default float32",
    ),
]
MaxLossIncrease = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="share by which a lower precision may raise a member's loss; default 0.01"),
]

_OF_VERSIONS = {
    "sweep_id": Sweep, "trial_ids": Trials, "k": K, "select": Selecting, "bags": Bags, "combine": Combining,
    "weights": Weights, "calibrate": Calibrate, "fit_on": FitOn, "force": Force, "mode": Modes,
    "deadline_ms": DeadlineMs, "quorum": Quorum, "replicas": Replicas, "placement": Placing, "devices": Devices,
    "precision": Precise, "max_loss_increase": MaxLossIncrease,
}  # fmt: skip


def takes_version_options(command: Command) -> Command:
    """Let Typer pass `command` what describes a version; in its help after the arguments of the command."""
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OF_VERSIONS.items()
    ]
    own = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(command, eval_str=True).parameters.values()
        if each.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    arguments = [each for each in own if each.default is inspect.Parameter.empty]
    options = [each for each in own if each.default is not inspect.Parameter.empty]
    command.__signature__ = inspect.Signature([*arguments, *shared, *options])  # type: ignore[attr-defined]
    return command
