"""What a trial runs: a built-in model, or a user's own code; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from sweep import catalog
from sweep.data_source import Data
from sweep.strict import Model, complain

_REFERENCE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"  # module:function


class BuiltinProgram(Model):
    """A built-in model with the built-in fit loop."""

    model: str
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


class FunctionProgram(Model):
    """Your own function, `objective(trial)`: `module:function` in the folder `code`."""

    function: str = Field(pattern=_REFERENCE)
    build: str | None = Field(
        None,
        pattern=_REFERENCE,
        description="what builds your network from a trial's parameters, for ensembles; default: `build` beside it",
    )
    code: str | None = Field(None, description="folder of the code; the client uploads it as a bundle")
    bundle: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="SHA-256 of an uploaded bundle")
    data: Data | None = Field(None, description="what `trial.data` gives")


class ImportedProgram(Model):
    """What ran elsewhere: such a sweep is a record of its trials, and never runs."""

    imported: str = Field(min_length=1, max_length=300, description="where the trials come from")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the study that was sent")


def _program_kind(value: Any) -> str:
    if isinstance(value, ImportedProgram) or (isinstance(value, dict) and "imported" in value):
        return "imported"
    given = value.get("function") if isinstance(value, dict) else getattr(value, "function", None)
    return "builtin" if given is None else "function"


Program = Annotated[
    Annotated[BuiltinProgram, Tag("builtin")]
    | Annotated[FunctionProgram, Tag("function")]
    | Annotated[SkipJsonSchema[ImportedProgram], Tag("imported")],
    Discriminator(_program_kind),
]
