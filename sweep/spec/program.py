"""The `program` block of the sweep file: a built-in model, a function or a script; CLI, api and scheduler."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.command_macros import DEFAULT_COMMAND, invalid_word_reason, missing_variables
from podium.sweep.spec.data_source import Data
from podium.sweep.spec.metric_extraction import invalid_pattern_reason
from podium.sweep.spec.strict_model import Model, field_error, is_stored
from podium.sweep.values.code_references import REFERENCE, RESERVED_MODULES
from podium.sweep.values.errors import InvalidSpecError, Problem

_OURS = ("CUDA_VISIBLE_DEVICES", "PYTHONUNBUFFERED")


class BuiltinProgram(Model):
    """A built-in model, trained with the built-in fit loop."""

    model: str = Field(description="mlp or cnn")
    data: Data

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in builtin_catalog.MODELS:
            hint = builtin_catalog.did_you_mean(model, builtin_catalog.MODELS)
            raise field_error(f"unknown model {model!r}; {hint}")
        return model

    @model_validator(mode="after")
    def _fits_the_data(self) -> BuiltinProgram:
        if self.model == "cnn" and self.data.is_table:
            raise field_error(f"cnn needs images, but {self.data.description} is tabular; use mlp", "model")
        return self


class OwnCode(Model):
    """Keys of programs that run user code: a folder that is uploaded as a bundle, and environment variables."""

    code: str | None = Field(None, description="folder of the code; the client uploads it as a bundle")
    bundle: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="SHA-256 of an uploaded bundle")
    env: dict[str, str] = Field(
        default_factory=dict, description="additional environment variables; macros such as ${lr} are expanded"
    )

    @field_validator("env")
    @classmethod
    def _variables(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise field_error(f"{name!r} is not a valid environment variable name", name)
            if name in _OURS or name.startswith("PODIUM_"):
                raise field_error(f"{name} is reserved: Podium sets it for each trial; remove it", name)
        return env

    def check_variables(self, variables: Iterable[str]) -> None:
        """Raises `InvalidSpecError` for `${envvar:X}` if X is not among the variables of the service."""
        words = [(("program", "env", name), word, variables) for name, word in self.env.items()]
        for position, word in enumerate(getattr(self, "command", [])):
            words.append((("program", "command", str(position)), word, [*variables, *self.env]))
        if problems := [
            Problem(where, f"environment variable {name!r} is not set in the service; set it and restart podium serve")
            for where, word, known in words
            for name in missing_variables([word], known)
        ]:
            raise InvalidSpecError(problems)

    def check_env(self, parameters: dict[str, Any]) -> None:
        """Raises for a macro in `env` that is neither predefined nor the name of a parameter."""
        for name, word in self.env.items():
            if (complaint := invalid_word_reason(word, parameters, alone=False)) is not None:
                raise field_error(complaint, "program", "env", name)


class FunctionProgram(OwnCode):
    """A Python function, `objective(trial)` or `fn(config)`: `module:function` in the folder `code`."""

    function: str = Field(pattern=REFERENCE, description="MODULE:FUNCTION, such as train:objective")
    build: str | None = Field(
        None,
        pattern=REFERENCE,
        description="function that builds your network from parameters, for ensembles; default: `build` in its module",
    )
    argument: Literal["trial", "config"] | None = Field(
        None, description="argument of the function; default: config for a parameter named config or cfg, else trial"
    )
    constraints: str | None = Field(
        None,
        pattern=REFERENCE,
        description="MODULE:FUNCTION that returns the constraint violations of a trial, as Optuna's constraints_func",
    )
    preload: list[str] = Field(
        default_factory=list, max_length=16, description="installed packages to import once, before trials are forked"
    )
    data: Data | None = Field(None, description="data set for `trial.data`, read once and shared by all trials")

    @field_validator("preload")
    @classmethod
    def _names(cls, names: list[str]) -> list[str]:
        for position, name in enumerate(names):
            if not all(part.isidentifier() for part in name.split(".")):
                raise field_error(f"{name!r} is not a package name; for example, lightning", str(position))
            if name.split(".")[0] in RESERVED_MODULES:
                raise field_error(f"{name!r} is part of Podium; name packages that your code imports", str(position))
        return names

    @field_validator("env")
    @classmethod
    def _without_script(cls, env: dict[str, str]) -> dict[str, str]:
        for name, word in env.items():
            if "${program}" in word:
                raise field_error("${program} is the script of a command program; a function has none", name)
        return env


class CommandProgram(OwnCode):
    """An unchanged script: parameters are passed as arguments, metrics are read from its output or a file."""

    command: list[str] = Field(
        default_factory=lambda: list(DEFAULT_COMMAND),
        min_length=1,
        max_length=1000,
        description="list of words; macros such as ${args} expand to the parameters: docs/reference/programs.md",
    )
    script: str | None = Field(None, min_length=1, description="value of `${program}`, such as train.py")
    metrics: dict[str, str] = Field(
        default_factory=dict, max_length=50, description="by metric, `auto` or a regular expression with a value group"
    )

    @field_validator("command", mode="before")
    @classmethod
    def _is_list(cls, command: Any) -> Any:
        if isinstance(command, str):
            words = ", ".join(f'"{word}"' if "$" in word else word for word in shlex.split(command))
            raise field_error(f"must be a list of words, got a string; write [{words}]")
        return command

    @field_validator("metrics")
    @classmethod
    def _patterns(cls, metrics: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for name, pattern in ({} if is_stored(info) else metrics).items():
            if (complaint := invalid_pattern_reason(pattern)) is not None:
                raise field_error(complaint, name)
        return metrics

    @model_validator(mode="after")
    def _has_script(self) -> CommandProgram:
        if self.script is None and any("${program}" in word for word in self.command):
            raise field_error(
                "is required, because the command uses ${program}; for example, script: train.py", "script"
            )
        return self

    def check_macros(self, parameters: dict[str, Any]) -> None:
        """Raises for a macro that is neither predefined nor the name of a parameter."""
        for position, word in enumerate(self.command):
            if (complaint := invalid_word_reason(word, parameters)) is not None:
                raise field_error(complaint, "program", "command", str(position))
        self.check_env(parameters)


class ImportedProgram(Model):
    """The program of an imported sweep, which records trials that ran elsewhere and never runs."""

    imported: str = Field(min_length=1, max_length=300, description="origin of the trials")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the imported study")

    def execution_error(self) -> InvalidSpecError:
        """The error for an attempt to run it."""
        message = "imported sweeps cannot run; set model, function or command, or use `podium sweep import`"
        return InvalidSpecError([Problem(("program", "imported"), message)])


def _program_kind(value: Any) -> str:
    def given(key: str) -> bool:
        return (value.get(key) if isinstance(value, dict) else getattr(value, key, None)) is not None

    if given("imported"):
        return "imported"
    if given("function"):
        return "function"
    return "command" if given("command") or given("script") else "builtin"


Program = Annotated[
    Annotated[BuiltinProgram, Tag("builtin")]
    | Annotated[FunctionProgram, Tag("function")]
    | Annotated[CommandProgram, Tag("command")]
    | Annotated[SkipJsonSchema[ImportedProgram], Tag("imported")],
    Discriminator(_program_kind),
]
