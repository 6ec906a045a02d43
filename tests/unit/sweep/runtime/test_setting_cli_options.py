"""Options that are declared next to settings: what the command line reads of them, and which fields they set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.runtime.setting_cli_options import file_option, given_settings, option, option_group, options_of


@dataclass(frozen=True)
class Inner:
    size: int = option(3, "how many", name="inner_size", type=int | None, min=1)


@dataclass(frozen=True)
class Settings:
    folder: str
    port: int = option(8300, "of the API", max=65535)
    inner: Inner | None = option_group(Inner)
    names: tuple[str, ...] = option((), "repeatable", name="name", type=list[str] | None)
    token: str = file_option("a secret")
    epoch: int = 0


def test_options_have_the_name_type_and_default_of_their_setting_unless_others_are_given() -> None:
    port, size, names, token = options_of(Settings)
    assert (port.setting, port.name, port.type, port.default, port.max) == ("port", "port", int, 8300, 65535)
    assert (size.setting, size.flag, size.type, size.default, size.min) == ("size", "--inner-size", int | None, None, 1)
    assert (names.setting, names.flag, names.help) == ("names", "--name", "repeatable")
    assert (token.type, token.metavar, token.default) == (Path | None, "FILE", None)


def test_given_options_set_fields_and_others_leave_their_defaults() -> None:
    options = {"port": 1, "inner_size": None, "name": ["a", "b"], "token": Path("token")}
    assert given_settings(Settings, options) == {"port": 1, "names": ("a", "b"), "token": str(Path("token").absolute())}
    assert given_settings(Inner, options) == {}
    made = Settings("data", **given_settings(Settings, {**options, "token": None}))
    assert made == Settings("data", 1, None, ("a", "b"), "", 0)


def test_options_of_a_service_have_different_names_and_belong_to_its_settings() -> None:
    names = [each.name for each in options_of(ServiceSettings)]
    assert len(names) == len(set(names)) > 20
    assert {each.name for each in options_of(ExistingCluster)} < set(names)
