"""The check of deploy/ accepts the files in it, and finds the mistakes that it is for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.rendered_chart import check_deploy


def test_the_chart_and_the_other_files_have_no_problems() -> None:
    problems = [
        *check_deploy.file_problems(),
        *check_deploy.version_problems(check_deploy.CHART),
        *check_deploy.chart_problems(check_deploy.CHART),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem", "values"),
    [
        ("templates/head.yaml", "serviceName:", "servicName:", "'serviceName' is a required property", ""),
        ("templates/nodes.yaml", "periodSeconds: 10", "periodSeconds: ten", "'ten' is not of type 'integer'", ""),
        ("templates/nodes.yaml", "{{- end }}", "", "unexpected EOF", ""),
        ("templates/raycluster.yaml", "rayStartParams:", "rayStartParam:", "'rayStartParam' was unexpected", "ray"),
        (
            "templates/raycluster.yaml",
            "- name: ray-token\n  sec",
            "- name: other\n  sec",
            "is no volume ray-token",
            "ray",
        ),
        (
            "templates/raycluster.yaml",
            "name: ray-worker",
            "name: worker",
            "environment has a whole Secret",
            "ray-options",
        ),
        ("templates/_helpers.tpl", "drop: [ALL]", "drop: []", "permits more rights", ""),
        ("templates/head.yaml", "name: PODIUM_DATA_DIR", "name: PODIUM_TOKEN", "a secret in the environment", ""),
        ("templates/nodes.yaml", "readinessProbe:", "startupProbe:", "it has no readinessProbe", ""),
        (
            "templates/head.yaml",
            '"path" "readyz"',
            '"path" "healthz"',
            "its readinessProbe asks /healthz, which answers before the service is ready",
            "",
        ),
        (
            "templates/head.yaml",
            '"path" "healthz"',
            '"path" "readyz"',
            "its livenessProbe asks /readyz, so a component that restarts would restart the container",
            "",
        ),
        ("values.yaml", "gateways: 1", "gateways: 0", "gateways", ""),
        ("ci/pools-values.yaml", "replicas: 2", "replica: 2", "replica", "pools"),
        ("ci/ray-options-values.yaml", "devices: gpu", "devices: cpu:2", "devices", "ray-options"),
        ("ci/ray-address-values.yaml", "local:6379", "local", "address", "ray-address"),
    ],
)
def test_a_mistake_in_the_chart_is_found(
    tmp_path: Path, file: str, right: str, wrong: str, problem: str, values: str
) -> None:
    chart = tmp_path / "podium"
    shutil.copytree(check_deploy.CHART, chart)
    content = (chart / file).read_text()
    assert right in content
    (chart / file).write_text(content.replace(right, wrong))
    rendered_with = chart / (f"ci/{values}-values.yaml" if values else "values.yaml")
    assert problem in "\n".join(check_deploy.values_problems(chart, rendered_with))


def test_other_versions_than_those_of_the_package_are_found(tmp_path: Path) -> None:
    chart = tmp_path / "podium"
    shutil.copytree(check_deploy.CHART, chart)
    for file, right in (("Chart.yaml", "appVersion: "), ("values.yaml", "version: ")):
        content = (chart / file).read_text()
        assert right in content
        (chart / file).write_text(content.replace(right, f"{right}9."))
    assert len(list(check_deploy.version_problems(chart))) == 2


def test_health_checks_of_compose_files_and_the_image_are_examined() -> None:
    alive, ready = {"test": ["CMD", "GET", "/healthz"]}, {"test": ["CMD", "GET", "/readyz"]}
    services = {
        "a": {"healthcheck": ready},
        "b": {"healthcheck": alive},
        "c": {"healthcheck": {"disable": True}},
        "d": {},
    }
    problems = list(check_deploy.compose_problems("compose.yaml", {"services": services}))
    assert [problem.split()[1:4] for problem in problems] == [
        ["the", "healthcheck", "of"], ["c", "has", "no"], ["d", "has", "no"],
    ]  # fmt: skip
    assert list(check_deploy.image_problems("HEALTHCHECK --interval=1s \\\n    CMD curl /healthz")) == []
    assert list(check_deploy.image_problems("HEALTHCHECK --interval=1s \\\n    CMD curl /readyz"))
    assert list(check_deploy.image_problems("FROM scratch"))


@pytest.mark.parametrize(
    ("service", "problem"),
    [
        ({"imge": "podium"}, "services.serve: 'imge' does not match"),
        ({"ports": "8300:8300"}, "services.serve.ports: '8300:8300' is not of type 'array'"),
        ({"restart": True}, "services.serve.restart: True is not of type 'string'"),
    ],
)
def test_a_mistake_in_a_compose_file_is_found(service: dict[str, object], problem: str) -> None:
    sound = {"image": "podium", "healthcheck": {"test": ["CMD", "true"]}}
    assert list(check_deploy.compose_problems("compose.yaml", {"name": "demo", "services": {"serve": sound}})) == []
    project = {"services": {"serve": {**sound, **service}}}
    (found,) = check_deploy.compose_problems("compose.yaml", project)
    assert found.startswith(f"compose.yaml: {problem}")
