"""What a trial runs: a built-in model, a function, or a script; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from podium.sweep.spec import catalog
from podium.sweep.spec.command_line import DEFAULT_COMMAND, complaint_about_word, missing_variables
from podium.sweep.spec.data_source import Data
from podium.sweep.spec.metric_patterns import complaint_about_pattern
from podium.sweep.spec.strict_model import Model, complain, is_stored
from podium.sweep.values.code_references import REFERENCE, RESERVED_MODULES
from podium.sweep.values.errors import InvalidSpecError, Problem

_OURS = ("CUDA_VISIBLE_DEVICES", "PYTHONUNBUFFERED")


class BuiltinProgram(Model):
    """A built-in model with the built-in fit loop."""

    model: str = Field(description="mlp or cnn")
    data: Data

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in catalog.MODELS:
            hint = catalog.suggestion(model, catalog.MODELS)
            raise complain(f"unknown model {model!r}; {hint}")
        return model

    @model_validator(mode="after")
    def _fits_the_data(self) -> BuiltinProgram:
        if self.model == "cnn" and self.data.is_table:
            raise complain(f"cnn needs images, and {self.data.shown} is a table; write mlp", "model")
        return self


class OwnCode(Model):
    """What programs have in common whose code is a user's: a folder that is uploaded as a bundle."""

    code: str | None = Field(None, description="folder of the code; the client uploads it as a bundle")
    bundle: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="SHA-256 of an uploaded bundle")
    env: dict[str, str] = Field(
        default_factory=dict, description="more environment variables; macros such as ${lr} work here too"
    )

    @field_validator("env")
    @classmethod
    def _variables(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise complain(f"{name!r} is no name of a variable", name)
            if name in _OURS or name.startswith("PODIUM_"):
                raise complain(f"{name} is set by Podium for each trial; leave it out", name)
        return env

    def check_variables(self, variables: Iterable[str]) -> None:
        """Raises `InvalidSpecError` for `${envvar:X}` where there is no variable X among those of the service."""
        words = [(("program", "env", name), word, variables) for name, word in self.env.items()]
        for position, word in enumerate(getattr(self, "command", [])):
            words.append((("program", "command", str(position)), word, [*variables, *self.env]))
        if problems := [
            Problem(where, f"the service's environment has no variable {name!r}; start `podium serve` with it")
            for where, word, known in words
            for name in missing_variables([word], known)
        ]:
            raise InvalidSpecError(problems)

    def check_env(self, parameters: dict[str, Any]) -> None:
        """Raises for a macro in `env` that is neither one of ours nor the name of a parameter."""
        for name, word in self.env.items():
            if (complaint := complaint_about_word(word, parameters, alone=False)) is not None:
                raise complain(complaint, "program", "env", name)


class FunctionProgram(OwnCode):
    """Your own function, `objective(trial)` or `fn(config)`: `module:function` in the folder `code`."""

    function: str = Field(pattern=REFERENCE, description="MODULE:FUNCTION, as in train:objective")
    build: str | None = Field(
        None,
        pattern=REFERENCE,
        description="what builds your network from a trial's parameters, for ensembles; default: `build` beside it",
    )
    argument: Literal["trial", "config"] | None = Field(
        None, description="what the function gets; by default a config where its parameter is called config or cfg"
    )
    constraints: str | None = Field(
        None,
        pattern=REFERENCE,
        description="MODULE:FUNCTION that says by how much a trial violates its constraints, as Optuna's",
    )
    preload: list[str] = Field(
        default_factory=list, max_length=16, description="installed packages to import before the trials are forked"
    )
    data: Data | None = Field(None, description="data for `trial.data`, read once and shared by all trials")

    @field_validator("preload")
    @classmethod
    def _names(cls, names: list[str]) -> list[str]:
        for position, name in enumerate(names):
            if not all(part.isidentifier() for part in name.split(".")):
                raise complain(f"{name!r} is no name of a package; write lightning, say", str(position))
            if name.split(".")[0] in RESERVED_MODULES:
                raise complain(f"{name!r} is Podium's own; only packages that your code uses", str(position))
        return names

    @field_validator("env")
    @classmethod
    def _without_script(cls, env: dict[str, str]) -> dict[str, str]:
        for name, word in env.items():
            if "${program}" in word:
                raise complain("${program} stands for the script of a command program; a function has none", name)
        return env


class CommandProgram(OwnCode):
    """Your unchanged script: arguments in by macros, metrics out by patterns, or by a file of JSON lines."""

    command: list[str] = Field(
        default_factory=lambda: list(DEFAULT_COMMAND),
        min_length=1,
        max_length=1000,
        description="a word each; macros such as ${args} become the parameters: docs/user-code.md",
    )
    script: str | None = Field(None, min_length=1, description="what `${program}` stands for: train.py, say")
    metrics: dict[str, str] = Field(
        default_factory=dict, max_length=50, description="by metric, a pattern whose first group is its value"
    )

    @field_validator("command", mode="before")
    @classmethod
    def _is_list(cls, command: Any) -> Any:
        if isinstance(command, str):
            words = ", ".join(f'"{word}"' if "$" in word else word for word in shlex.split(command))
            raise complain(f"write a list of words: [{words}]")
        return command

    @field_validator("metrics")
    @classmethod
    def _patterns(cls, metrics: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for name, pattern in ({} if is_stored(info) else metrics).items():
            if (complaint := complaint_about_pattern(pattern)) is not None:
                raise complain(complaint, name)
        return metrics

    @model_validator(mode="after")
    def _has_script(self) -> CommandProgram:
        if self.script is None and any("${program}" in word for word in self.command):
            raise complain("${program} stands for `script`, which is missing; write script: train.py", "script")
        return self

    def check_macros(self, parameters: dict[str, Any]) -> None:
        """Raises for a macro that is neither one of ours nor the name of a parameter."""
        for position, word in enumerate(self.command):
            if (complaint := complaint_about_word(word, parameters)) is not None:
                raise complain(complaint, "program", "command", str(position))
        self.check_env(parameters)


class ImportedProgram(Model):
    """What ran elsewhere: such a sweep is a record of its trials, and never runs."""

    imported: str = Field(min_length=1, max_length=300, description="where the trials come from")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the study that was sent")

    def refusal(self) -> InvalidSpecError:
        """What to say to who wants to run it."""
        message = "what was imported cannot run; write model, function or command, or use `podium sweep import`"
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
