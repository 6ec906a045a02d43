"""The check of deploy/ accepts the files in it, and finds the mistakes that it is for."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
import yaml

from podium.api.cli.commands.node_join import join
from podium.api.cli.commands.serve import serve
from tests.repository import ROOT


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_deploy", ROOT / ".ci" / "check_deploy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


check_deploy = _loaded()


def _rendered(values: str = "") -> list[dict[str, Any]]:
    with check_deploy.helm_python.Chart.load(check_deploy.CHART) as chart:
        found = chart.render(check_deploy.helm_python.values_from_yaml(values), name="demo", namespace="research")
    texts = (text for name, text in found.items() if name.endswith(".yaml"))
    return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]


def _container(component: str, values: str = "") -> dict[str, Any]:
    (found,) = [
        manifest["spec"]["template"]["spec"]["containers"][0]
        for manifest in _rendered(values)
        if manifest["kind"] == "StatefulSet"
        and manifest["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]
    return dict(found)


def test_the_chart_and_the_other_files_have_no_problems() -> None:
    problems = [
        *check_deploy.file_problems(),
        *check_deploy.version_problems(check_deploy.CHART),
        *check_deploy.chart_problems(check_deploy.CHART),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem"),
    [
        ("templates/head.yaml", "serviceName:", "servicName:", "'serviceName' is a required property"),
        ("templates/nodes.yaml", "periodSeconds: 10", "periodSeconds: ten", "'ten' is not of type 'integer'"),
        ("templates/nodes.yaml", "{{- end }}", "", "unexpected EOF"),
        ("templates/raycluster.yaml", "rayStartParams:", "rayStartParam:", "'rayStartParam' was unexpected"),
        ("templates/_helpers.tpl", "drop: [ALL]", "drop: []", "permits more rights"),
        ("templates/head.yaml", "name: PODIUM_DATA_DIR", "name: PODIUM_TOKEN", "a secret in the environment"),
        ("values.yaml", "gateways: 1", "gateways: 0", "gateways"),
        ("ci/pools-values.yaml", "replicas: 2", "replica: 2", "replica"),
    ],
)
def test_a_mistake_in_the_chart_is_found(tmp_path: Path, file: str, right: str, wrong: str, problem: str) -> None:
    chart = tmp_path / "podium"
    shutil.copytree(check_deploy.CHART, chart)
    content = (chart / file).read_text()
    assert right in content
    (chart / file).write_text(content.replace(right, wrong))
    assert problem in "\n".join(check_deploy.chart_problems(chart))


def test_other_versions_than_those_of_the_package_are_found(tmp_path: Path) -> None:
    chart = tmp_path / "podium"
    shutil.copytree(check_deploy.CHART, chart)
    for file, right in (("Chart.yaml", "appVersion: "), ("values.yaml", "version: ")):
        content = (chart / file).read_text()
        assert right in content
        (chart / file).write_text(content.replace(right, f"{right}9."))
    assert len(list(check_deploy.version_problems(chart))) == 2


def test_an_exposed_api_requires_host_names() -> None:
    with pytest.raises(check_deploy.helm_python.HelmRenderError, match=r"expose\.names"):
        _rendered("expose: {tlsSecret: podium-tls}")


@pytest.mark.parametrize("values", ["", "ci/tls-values.yaml", "ci/proxy-values.yaml", "ci/pools-values.yaml"])
def test_the_head_gets_options_that_serve_has(values: str) -> None:
    text = (check_deploy.CHART / values).read_text() if values else ""
    command, *arguments = _container("head", text)["args"]
    assert command == "serve"
    _parse(serve, [argument.replace("/etc/podium/tls/", "") for argument in arguments])


def test_nodes_get_options_that_node_join_has() -> None:
    script = _container("node")["command"][2]
    _parse(join, script.replace("\\\n", " ").rpartition("podium node join")[2].split())
    compose = yaml.safe_load((check_deploy.DEPLOY / "compose.cluster.yaml").read_text())
    for name in ("node-1", "node-2"):
        assert compose["services"][name]["command"][:2] == ["node", "join"]
        _parse(join, compose["services"][name]["command"][2:])


def test_the_ray_cluster_is_off_while_serve_cannot_join_one() -> None:
    has_option = "ray_address" in inspect.signature(serve).parameters
    assert not has_option, "document ray.enabled as supported, and test its options like those of the head"
    assert not [manifest for manifest in _rendered() if manifest["kind"] == "RayCluster"]


def _parse(command: Any, arguments: list[str]) -> None:
    """Raises `click.UsageError` for an option that the command does not have."""
    app = typer.Typer()
    app.command()(command)
    typer.main.get_command(app).make_context("podium", list(arguments))
