"""What a sweep file says about the sweep for people: project, description, tags; CLI, api process and scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from podium.sweep.spec.strict_model import field_error
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.note_and_tag_checks import MAX_TAGS, checked_tags
from podium.sweep.values.sweep_metadata_checks import (
    MAX_DESCRIPTION,
    MAX_PROJECT,
    checked_description,
    checked_project,
)


def _validator(checked: Callable[[Any], Any]) -> AfterValidator:
    """The check, with its message at the key."""

    def check(value: Any) -> Any:
        try:
            return checked(value)
        except InvalidSpecError as error:
            raise field_error(error.problems[0].message) from None

    return AfterValidator(check)


Project = Annotated[
    str,
    _validator(checked_project),
    Field(max_length=MAX_PROJECT, description="groups sweeps in lists and filters; can be changed later"),
]
Description = Annotated[
    str,
    _validator(checked_description),
    Field(max_length=MAX_DESCRIPTION, description="text about the sweep, in Markdown; can be changed later"),
]
Tags = Annotated[
    list[str],
    _validator(checked_tags),
    Field(max_length=MAX_TAGS, description="tags of the sweep; can be changed later"),
]
