"""Command groups that load a command's module only when the command is invoked; CLI."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class CommandSource(NamedTuple):
    """Where a command of `podium` is defined, and its line in `podium --help`."""

    module: str  # holds `app`, a `typer.Typer` of a group, or a function
    name: str  # of the group or function in the module
    help: str  # of a function, equal to the first sentence of its docstring; a test compares them


class QuickGroup(TyperGroup):
    """A group whose help does not load pydantic.

    Typer loads pydantic, 60 ms of the 200 that --help may take, even to find that a flag was not given. For a flag
    whose default is False this group decides that without pydantic.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, with False as the default of each flag that has none."""
        found: list[Any] = list(super().get_params(ctx))
        for option in found:
            if option.default is None and option.type_descriptor.annotation is bool:
                option.default = False
        return found


class LazyCommand(TyperCommand):
    """Stands for a command that is not loaded yet: lists and completions show its name and help."""

    def __init__(self, name: str, source: CommandSource) -> None:
        super().__init__(name, help=source.help)
        self._source = source

    def load(self) -> Any:
        """Import the module and return the command."""
        command = _load(self._source.module, self._source.name)
        if isinstance(command, TyperGroup):
            command.name, command.help = self.name, self._source.help
        return command

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """A context of the loaded command, which parses `args`."""
        return self.load().make_context(info_name, args, parent, **extra)


def lazy_group(sources: Mapping[str, CommandSource]) -> type[QuickGroup]:
    """The class of a group with these commands, in this order."""

    class LazyGroup(QuickGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands.update({name: LazyCommand(name, source) for name, source in sources.items()})

    return LazyGroup


def group(help: str = "", **options: Any) -> typer.Typer:
    """A group of commands without rich help, which takes 70 ms of the 200 that --help may take."""
    return typer.Typer(
        cls=options.pop("cls", QuickGroup),
        help=help or None,
        add_completion=options.pop("add_completion", False),
        no_args_is_help=options.pop("no_args_is_help", True),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **options,
    )


@functools.cache
def _load(module: str, name: str) -> Any:
    found = getattr(importlib.import_module(module), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(found)
    return typer.main.get_command(app)
