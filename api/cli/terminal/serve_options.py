"""The options of `podium serve`, built from the declarations of the settings of a service; CLI."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, DatabaseUrlFile, DataDir, Devices
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.runtime.setting_cli_options import SettingOption, options_of

Command = TypeVar("Command", bound=Callable[..., None])
_SHARED: dict[str, tuple[Any, Any]] = {
    "devices": (Devices, "auto"),
    "database_url_file": (DatabaseUrlFile, None),
}  # settings whose option other commands have as well, and its default


def takes_settings(command: Command) -> Command:
    """Let Typer pass `command` the options of a service by their names."""
    options = [_parameter("data_dir", DataDir, DEFAULT_DATA_DIR)]
    options += [_parameter(each.name, *_SHARED.get(each.name, _declared(each))) for each in options_of(ServiceSettings)]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


def _declared(option: SettingOption) -> tuple[Any, Any]:
    flags = [option.flag] if option.type is bool else []  # without it Typer adds --no-…
    info = typer.Option(*flags, help=option.help, metavar=option.metavar, min=option.min, max=option.max)
    return Annotated[option.type, info], option.default


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
