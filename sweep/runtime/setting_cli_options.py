"""Declares, next to a setting, the option of `podium serve` that sets it; every component.

The command line builds its options from these declarations, so that each is written once. They name no library of the
command line, since every component imports the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_OPTION = "option"
_GROUP = "group"


@dataclass(frozen=True, slots=True)
class SettingOption:
    """An option of the command line; `setting` is the field that it sets."""

    setting: str
    name: str  # such as `allowed_host`, for `--allowed-host`
    help: str  # "": the option is shared with other commands, which declare it
    type: Any  # of a value on the command line
    default: Any
    metavar: str | None = None
    min: float | None = None
    max: float | None = None

    @property
    def flag(self) -> str:
        """As users write it: `--allowed-host`."""
        return "--" + self.name.replace("_", "-")


def option(default: T, help: str = "", *, name: str = "", type: Any = None, **limits: Any) -> T:
    """The default of a setting, with its option.

    The option has the name, the type and the default of the setting, unless `name` or `type` are given. With `type` the
    option has the default None. `limits` are `metavar`, `min` and `max` of `SettingOption`.
    """
    declared = {"help": help, "name": name, "type": type, **limits}
    return field(default=default, metadata={_OPTION: declared})


def file_option(help: str = "", *, metavar: str = "FILE", name: str = "") -> str:
    """The default of a setting that is the absolute path of a file; without the file ""."""
    return option("", help, name=name, type=Path | None, metavar=metavar)


def option_group(settings: type[T]) -> T | None:
    """The default of a setting that is a dataclass of settings, each with its option: None."""
    return field(default=None, metadata={_GROUP: settings})


def options_of(settings: type) -> list[SettingOption]:
    """The options of a dataclass of settings, in the order of its fields."""
    found = []
    for each in fields(settings):
        if _GROUP in each.metadata:
            found += options_of(each.metadata[_GROUP])
        elif _OPTION in each.metadata:
            found.append(_option_of(each))
    return found


def given_settings(settings: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass of settings that `options`, values by name, set: all whose option is not None."""
    direct = [_option_of(each) for each in fields(settings) if _OPTION in each.metadata]
    return {each.setting: _setting(options[each.name]) for each in direct if options[each.name] is not None}


def _setting(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    return tuple(value) if isinstance(value, list) else value


def _option_of(setting: Field[Any]) -> SettingOption:
    declared = dict(setting.metadata[_OPTION])
    name, kind = declared.pop("name") or setting.name, declared.pop("type")
    if kind is None:
        return SettingOption(setting.name, name, type=type(setting.default), default=setting.default, **declared)
    return SettingOption(setting.name, name, type=kind, default=None, **declared)
