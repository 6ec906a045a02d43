"""Groups of commands that say their help without loading pydantic; cli."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class QuickGroup(TyperGroup):
    """Typer loads pydantic, 60 ms of the 200 that --help may take, even to see that a flag was not given.

    Of a flag that is False it sees that by itself.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, each flag that was left out False."""
        found: list[Any] = list(super().get_params(ctx))
        for option in found:
            if option.default is None and option.type_descriptor.annotation is bool:
                option.default = False
        return found
