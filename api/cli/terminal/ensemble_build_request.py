"""The request of `podium ensemble build` and `version add`, checked before it is sent; CLI."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError

from podium.ensemble.values.ensemble_spec import VersionRequest
from podium.sweep.values.errors import InvalidSpecError, Problem

_OPTIONS = {"k": "-k", "trial_ids": "--trial", "sweep_id": "SWEEP"}


def request(sweep_id: int | None, weights: str | None, **options: Any) -> dict[str, Any]:
    """The options that were given, validated, as the body to send. Raises `InvalidSpecError` naming the option."""
    if (sweep_id is None) == (options["trial_ids"] is None):
        raise typer.BadParameter("give either SWEEP or one --trial for each trial")
    if weights is not None:
        options["weights"] = weights.split(",")
    if (precision := options.get("precision")) is not None and "," in precision:
        options["precision"] = precision.split(",")
    given = {key: value for key, value in {"sweep_id": sweep_id, **options}.items() if value is not None}
    try:
        return VersionRequest.model_validate(given).model_dump(mode="json", include=set(given))
    except ValidationError as error:
        raise InvalidSpecError([_problem(e["loc"], e["msg"]) for e in error.errors()], "") from None


def _problem(location: tuple[int | str, ...], message: str) -> Problem:
    """The problem with the option's name; a message about several options together starts with the key."""
    message = message.removeprefix("Value error, ")
    key = str(location[0]) if location else ""
    if not location:
        key, _, message = message.partition(": ")
    return Problem((_OPTIONS.get(key, f"--{key.replace('_', '-')}"),), f"{message[:1].lower()}{message[1:]}")
