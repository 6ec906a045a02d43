"""The check of deploy/ accepts the files in it, and finds the mistakes that it is for."""

from __future__ import annotations

import copy
import functools
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.rendered_chart import check_deploy, of_kind


@pytest.mark.slow
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


@functools.cache
def _rendered_ray_cluster() -> dict[str, Any]:
    (cluster,) = of_kind("RayCluster", "ray: {enabled: true}\n")
    return cluster


def test_the_rendered_ray_cluster_is_sound() -> None:
    assert list(check_deploy.manifest_problems(_rendered_ray_cluster())) == []


@pytest.mark.parametrize(
    ("place", "fields", "problem"),
    [
        ("", {"sepc": {}}, "'sepc' was unexpected"),
        ("spec", {"suspended": True}, "'suspended' was unexpected"),
        ("spec", {"suspend": "no"}, "spec.suspend: 'no' is not of type 'boolean'"),
        ("spec", {"rayVersion": "latest"}, "spec.rayVersion: 'latest' does not match"),
        ("spec", {"managedBy": "us"}, "spec.managedBy: 'us' is not one of"),
        ("spec", {"autoscalerOptions": {"upscalingMode": "Fast"}}, "'Fast' is not one of ['Default',"),
        ("spec", {"autoscalerOptions": {"env": [{"value": "1"}]}}, "env.0: 'name' is a required property"),
        ("spec", {"autoscalerOptions": {"resources": {"limit": {}}}}, "'limit' was unexpected"),
        ("spec", {"gcsFaultToleranceOptions": {"backend": "etcd"}}, "'etcd' is not one of ['redis', 'rocksdb']"),
        ("spec", {"gcsFaultToleranceOptions": {"storage": {"deletionPolicy": "Keep"}}}, "'Keep' is not one of"),
        ("spec", {"authOptions": {"mode": "token"}}, "'authOptions' should not be valid"),  # not in KubeRay 1.4
        ("metadata", {"name": "9"}, "metadata.name: '9' does not match"),
        ("metadata", {"label": {}}, "'label' was unexpected"),
        ("head", {"servicetype": "ClusterIP"}, "'servicetype' was unexpected"),
        ("head", {"serviceType": "Cluster"}, "headGroupSpec.serviceType: 'Cluster' is not one of"),
        ("head", {"enableIngress": 1}, "headGroupSpec.enableIngress: 1 is not of type 'boolean'"),
        ("head", {"rayStartParams": {"num-cpus": 0}}, "rayStartParams.num-cpus: 0 is not of type 'string'"),
        ("head", {"headService": {"spec": {"types": "ClusterIP"}}}, "'types' was unexpected"),
        ("head", {"template": {"spec": {"containers": []}}}, "template.spec.containers: [] should be non-empty"),
        ("head", {"labels": {"a": "b"}}, "'labels' should not be valid"),
        ("worker", {"numHosts": 1}, "'numHosts' was unexpected"),
        ("worker", {"replicas": "2"}, "workerGroupSpecs.0.replicas: '2' is not of type 'integer'"),
        ("worker", {"minReplicas": -1}, "workerGroupSpecs.0.minReplicas: -1 is less than the minimum"),
        ("worker", {"groupName": ""}, "workerGroupSpecs.0.groupName: '' should be non-empty"),
        ("worker", {"scaleStrategy": {"workersToDelete": "all"}}, "'all' is not of type 'array'"),
        ("worker", {"template": {"metadata": {}}}, "workerGroupSpecs.0.template: 'spec' is a required property"),
        ("template", {"status": {}}, "'status' was unexpected"),
        ("pod", {"nodeselector": {}}, "'nodeselector' was unexpected"),
        ("pod", {"hostNetwork": "yes"}, "template.spec.hostNetwork: 'yes' is not of type 'boolean'"),
        ("pod", {"restartPolicy": 3}, "template.spec.restartPolicy: 3 is not of type 'string'"),
    ],
)
def test_a_mistake_in_a_ray_cluster_is_found(place: str, fields: dict[str, Any], problem: str) -> None:
    cluster = copy.deepcopy(_rendered_ray_cluster())
    worker = cluster["spec"]["workerGroupSpecs"][0]
    places = {
        "": cluster, "metadata": cluster["metadata"], "spec": cluster["spec"], "head": cluster["spec"]["headGroupSpec"],
        "worker": worker, "template": worker["template"], "pod": worker["template"]["spec"],
    }  # fmt: skip
    places[place].update(fields)
    found = list(check_deploy.manifest_problems(cluster))
    assert len(found) == len(check_deploy.VERSIONS) and all(problem in each for each in found)


@pytest.mark.parametrize(
    ("place", "field"),
    [("", "spec"), ("spec", "headGroupSpec"), ("spec", "workerGroupSpecs"), ("spec", "rayVersion")],
)
def test_a_ray_cluster_without_a_required_field_is_found(place: str, field: str) -> None:
    cluster = copy.deepcopy(_rendered_ray_cluster())
    del (cluster[place] if place else cluster)[field]
    found = list(check_deploy.raycluster_problems(cluster))
    assert found and all(f"'{field}' is a required property" in each for each in found)


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
