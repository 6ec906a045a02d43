"""What `podium ensemble build` and `version add` ask for, and the request it makes; cli."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from podium.sweep.values.errors import Problem

Name = Annotated[str, typer.Argument(metavar="ENSEMBLE", help="id or name of an ensemble")]
Names = Annotated[list[str], typer.Argument(metavar="ENSEMBLE...", help="ids or names of ensembles")]
Sweep = Annotated[int | None, typer.Argument(metavar="SWEEP", help="id of the sweep to choose from")]
Trials = Annotated[
    list[int] | None, typer.Option("--trial", metavar="ID", help="or the id of a trial to take; repeat for each")
]
K = Annotated[int | None, typer.Option("--members", "-k", metavar="K", help="how many members; default 3")]
Selecting = Annotated[
    Literal["top_k", "greedy", "diverse"] | None, typer.Option("--select", help="how they are chosen; default top_k")
]
Bags = Annotated[
    int | None, typer.Option(metavar="N", help="greedy: repeat on N random halves of the trials; default 0")
]
Combining = Annotated[
    Literal["mean", "logit_mean", "weighted", "median", "trimmed_mean", "hard_vote", "stacking"] | None,
    typer.Option("--combine", help="how predictions become one; default mean"),
]
Weights = Annotated[
    str | None, typer.Option(metavar="W,W,...", help="of the --trial ids, in that order; default: fitted or equal")
]
Calibrate = Annotated[
    bool | None, typer.Option("--calibrate", help="apply a temperature, fitted on the calibration split")
]
FitOn = Annotated[
    Literal["calibration", "validation"] | None,
    typer.Option("--fit-on", help="where weights and temperature are fitted; default calibration"),
]
Force = Annotated[
    bool | None, typer.Option("--force", help="allow fitting where members were chosen; every report will say so")
]
Modes = Annotated[
    Literal["in_graph", "between_graph"] | None,
    typer.Option("--mode", help="one program, or a process for each member; default between_graph"),
]
DeadlineMs = Annotated[float | None, typer.Option("--deadline-ms", metavar="MS", help="an answer leaves by then; "
                                                  "default 1000")]  # fmt: skip
Quorum = Annotated[int | None, typer.Option(metavar="N", help="fewer answers are an error; default: the majority")]
Replicas = Annotated[int | None, typer.Option(metavar="N", help="processes of each member; default 1")]
Placing = Annotated[
    Literal["shared", "dedicated"] | None,
    typer.Option("--placement", help="dedicated: their devices run no trials; default shared"),
]
Precise = Annotated[
    Literal["float32", "bfloat16"] | None, typer.Option("--precision", help="of the networks; default float32")
]


def request(sweep_id: int | None, weights: str | None, **options: Any) -> dict[str, Any]:
    """What was given, checked, as the body to send. Raises `InvalidSpecError` naming the option."""
    from pydantic import ValidationError  # not for --help

    from podium.ensemble.values.ensemble_spec import VersionRequest
    from podium.sweep.values.errors import InvalidSpecError

    if (sweep_id is None) == (options["trial_ids"] is None):
        raise typer.BadParameter("give SWEEP, or --trial for each trial; one of the two")
    if weights is not None:
        options["weights"] = weights.split(",")
    given = {key: value for key, value in {"sweep_id": sweep_id, **options}.items() if value is not None}
    try:
        return VersionRequest.model_validate(given).model_dump(mode="json", include=set(given))
    except ValidationError as error:
        raise InvalidSpecError([_problem(e["loc"], e["msg"]) for e in error.errors()], "") from None


_OPTIONS = {"k": "-k", "trial_ids": "--trial", "sweep_id": "SWEEP"}


def _problem(location: tuple[int | str, ...], message: str) -> Problem:
    """The option instead of the key; what is wrong with several of them together says the key first."""
    from podium.sweep.values.errors import Problem

    message = message.removeprefix("Value error, ")
    key = str(location[0]) if location else ""
    if not location:
        key, _, message = message.partition(": ")
    return Problem((_OPTIONS.get(key, f"--{key.replace('_', '-')}"),), f"{message[:1].lower()}{message[1:]}")
