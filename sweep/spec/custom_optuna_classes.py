"""A custom Optuna sampler or pruner class in a sweep file, `module:Class` with arguments; CLI, api and scheduler."""

from __future__ import annotations

import json
import re
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from podium.sweep.spec.strict_model import Model, field_error
from podium.sweep.values.code_references import REFERENCE

MAX_ARGS = 16 << 10  # characters, as JSON


def _named(reference: str, instead: str) -> str:
    if re.fullmatch(REFERENCE, reference) is None:
        raise field_error(f"must be MODULE:CLASS, got {reference!r}; for a built-in one write, for example, {instead}")
    return reference


def _sampler(reference: str) -> str:
    return _named(reference, "method: tpe")


def _pruner(reference: str) -> str:
    return _named(reference, "type: median")


def _bounded(args: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(json.dumps(args)) > MAX_ARGS:
        raise field_error(f"must have at most {MAX_ARGS:,} characters as JSON")
    return args


SamplerName = Annotated[str, AfterValidator(_sampler)]
PrunerName = Annotated[str, AfterValidator(_pruner)]
ClassArgs = Annotated[dict[str, JsonValue], AfterValidator(_bounded)]
_ARGS = "keyword arguments of the class, as JSON values; {sampler: MODULE:CLASS, args: {…}} for a nested sampler"


class SamplerClass(Model):
    """An Optuna sampler class from a package that is installed in the service's Python environment."""

    sampler: SamplerName = Field(description="MODULE:CLASS, a subclass of optuna.samplers.BaseSampler")
    args: ClassArgs = Field(default_factory=dict, description=_ARGS)
