"""Commands in deploy/ and in the chart have options that the command line has, with values that it accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup

from podium.api.cli.app import app
from podium.api.cli.commands.node_join import join
from podium.api.cli.commands.serve import serve
from podium.api.cli.terminal.lazy_groups import LazyCommand
from podium.api.serve.existing_cluster_options import existing_cluster
from podium.sweep.file_store.object_store_url import normalized
from podium.sweep.runtime.service_settings import DevicePlan
from tests.rendered_chart import VALUES, check_deploy, container, pods, values_of

DEPLOY: Path = check_deploy.DEPLOY
FILES = sorted(path.name for path in DEPLOY.iterdir() if path.is_file() and path.name != "lint.sh")
_COMMAND = re.compile(r"(?:^|[\s/\"'(`])podium((?: [a-z]+)+)([^\n|;)`]*)", re.MULTILINE)
_OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]+")


@pytest.mark.parametrize("file", VALUES)
def test_the_head_gets_options_that_serve_has(file: str) -> None:
    command, *arguments = container(pods(values_of(file))["demo-podium-head"])["args"]
    assert command == "serve"
    found = _parsed(serve, [argument.replace("/etc/podium/tls/", "") for argument in arguments])
    joined = existing_cluster({**found, "ray_token": None}, DevicePlan.parse(found["devices"]))
    assert (joined is not None) == ("enabled: true" in values_of(file))
    assert not found["artifact_url"] or normalized(found["artifact_url"])


@pytest.mark.parametrize(("file", "ports"), [("", "8400-8499"), ("store-values.yaml", "9000-9099")])
def test_nodes_of_the_chart_get_options_that_node_join_has(file: str, ports: str) -> None:
    node = container(pods(values_of(file))["demo-podium-gpu"])
    variables = {each["name"]: each.get("value", "") for each in node["env"]}
    assert variables["PODIUM_MEMBER_PORTS"] == ports
    script = node["command"][2].replace("\\\n", " ").rpartition("podium node join")[2]
    found = _parsed(join, [_expanded(word, variables) for word in script.split()])
    assert found["member_ports"] == ports


def test_nodes_of_the_compose_file_get_options_that_node_join_has() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.cluster.yaml").read_text())
    for name in ("node-1", "node-2"):
        assert compose["services"][name]["command"][:2] == ["node", "join"]
        _parsed(join, compose["services"][name]["command"][2:])


@pytest.mark.parametrize("file", FILES)
def test_options_in_other_files_exist(file: str) -> None:
    for command, options in _commands((DEPLOY / file).read_text()):
        known = {option for parameter in command.params for option in parameter.opts}
        assert options <= known, f"{command.name}: {options - known}"


def test_other_files_contain_commands() -> None:
    found = {file: [command.name for command, _ in _commands((DEPLOY / file).read_text())] for file in FILES}
    assert {"serve", "join", "create", "run"} <= set(found["slurm.sbatch"])
    assert {"serve", "join", "create"} <= set(found["sky.yaml"]) & set(found["README.md"])
    assert found["podium.service"] == ["serve"]
    assert "join" in found["podium-node.service"]


def _commands(text: str) -> Iterator[tuple[Any, set[str]]]:
    """The commands of Podium in a text, each with its options."""
    for words, rest in _COMMAND.findall(text.replace("\\\n", " ")):
        command: Any = typer.main.get_command(app)
        for word in words.split():
            if isinstance(command, TyperGroup):
                command = command.commands.get(word)
            if isinstance(command, LazyCommand):
                command = command.load()
        if command is not None and not isinstance(command, TyperGroup):
            yield command, set(_OPTION.findall(rest))


def _expanded(word: str, variables: dict[str, str]) -> str:
    name = word.strip('"').removeprefix("$")
    return variables.get(name, word) if word.startswith('"$') else word


def _parsed(command: Any, arguments: list[str]) -> dict[str, Any]:
    """The values of the options. Raises `click.UsageError` for an option that the command does not have."""
    made = typer.Typer()
    made.command()(command)
    return dict(typer.main.get_command(made).make_context("podium", list(arguments)).params)
