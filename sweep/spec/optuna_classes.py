"""A sampler or pruner class that a sweep file names, `module:Class`, with its arguments; cli, api and scheduler."""

from __future__ import annotations

import json
import re
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from podium.sweep.spec.strict_model import Model, complain
from podium.sweep.values.code_references import REFERENCE

MAX_ARGS = 16 << 10  # characters, as JSON


def _named(reference: str, instead: str) -> str:
    if re.fullmatch(REFERENCE, reference) is None:
        raise complain(f"{reference!r} is not MODULE:CLASS; what is built in is written {instead}")
    return reference


def _sampler(reference: str) -> str:
    return _named(reference, "method: tpe, say")


def _pruner(reference: str) -> str:
    return _named(reference, "type: median, say")


def _bounded(args: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(json.dumps(args)) > MAX_ARGS:
        raise complain(f"the arguments take more than {MAX_ARGS:,} characters as JSON; shorten them")
    return args


SamplerName = Annotated[str, AfterValidator(_sampler)]
PrunerName = Annotated[str, AfterValidator(_pruner)]
ClassArgs = Annotated[dict[str, JsonValue], AfterValidator(_bounded)]
_ARGS = "keyword arguments of the class, as JSON values; {sampler: MODULE:CLASS, args: {…}} for a sampler inside"


class SamplerClass(Model):
    """Any sampler class of Optuna's kind, from a package installed in the service's Python environment."""

    sampler: SamplerName = Field(description="MODULE:CLASS, a subclass of optuna.samplers.BaseSampler")
    args: ClassArgs = Field(default_factory=dict, description=_ARGS)
