"""What the Helm chart renders: one cluster of Podium's own nodes, or trials on a Ray cluster, and its secrets."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.rendered_chart import CHART, VALUES, RenderError, container, of_kind, pods, rendered, values_of

STORE = "artifacts: {url: s3://bucket/folder, credentialsSecret: store}\nnetworkPolicy: {enabled: false}\n"
RAY = "ray: {enabled: true}\n"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("expose: {tlsSecret: podium-tls}", r"expose\.names"),
        ("ray: {enabled: true, tokenSecret: ''}", r"ray\.tokenSecret"),
        ("ray: {enabled: true, address: 'ray:6379'}", r"ray\.peers"),
        ("artifacts: {url: s3://bucket/folder}", r"networkPolicy\.egress"),
        ("artifacts: {credentialsSecret: store}", r"artifacts\.url"),
        ("database: {standby: true}", r"database\.urlSecret"),
        ("database: {urlSecret: db, standby: true}\nnetworkPolicy: {enabled: false}", r"ray\.enabled"),
        ("database: {urlSecret: db}", r"networkPolicy\.egress"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(values: str, named: str) -> None:
    with pytest.raises(RenderError, match=named):
        rendered(values)


def test_node_pools_are_the_default() -> None:
    assert set(pods()) == {"demo-podium-head", "demo-podium-gpu"}


def test_ray_cluster_replaces_the_node_pools() -> None:
    found = pods(RAY)
    assert set(found) == {"demo-podium-head", "ray-head", "ray-gpu"}
    (cluster,) = of_kind("RayCluster", RAY)
    address = _option(container(found["demo-podium-head"])["args"], "--ray-address")
    assert address == f"{cluster['metadata']['name']}-head-svc:6379", "the Service that KubeRay makes"
    assert cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_standby_is_a_second_pod_with_the_same_database_volume_and_ray_cluster() -> None:
    values = values_of("standby-values.yaml")
    (head,) = of_kind("StatefulSet", values)
    assert head["spec"]["replicas"] == 2 and "volumeClaimTemplates" not in head["spec"]
    arguments = container(pods(values)["demo-podium-head"])["args"]
    assert "--standby" in arguments and "--ray-address" in arguments
    assert _option(arguments, "--database-url-file") == "/etc/podium/database/url"
    (claim,) = of_kind("PersistentVolumeClaim", values)
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    volumes = {each["name"]: each for each in pods(values)["demo-podium-head"]["spec"]["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert volumes["database"]["secret"]["secretName"] == "podium-database"


@pytest.mark.parametrize(("installed", "refused"), [("one", True), ("two", False), ("none", False)])
@pytest.mark.parametrize("standby", [True, False])
def test_standby_of_an_installation_cannot_be_changed(
    tmp_path: Path, installed: str, refused: bool, standby: bool
) -> None:
    """Without a cluster, `lookup` finds nothing: a template of the test has the StatefulSet that it would find."""
    (one,), (two,) = (_heads(values_of(f"{name}-values.yaml")) for name in ("postgres", "standby"))
    found = {"one": one if standby else two, "two": two if standby else one, "none": {}}[installed]
    chart = shutil.copytree(CHART, tmp_path / "podium")
    include = f'include "podium.checkInstalled" (dict "found" (fromJson {json.dumps(json.dumps(found))})'
    (chart / "templates" / "check.txt").write_text(f'{{{{ {include} "standby" {str(standby).lower()}) }}}}\n')
    if refused:
        with pytest.raises(RenderError, match=r"standby cannot be changed by an upgrade.*deploy/README\.md"):
            rendered(chart=chart)
    else:
        rendered(chart=chart)


def _heads(values: str) -> list[dict[str, Any]]:
    return [each for each in of_kind("StatefulSet", values) if each["metadata"]["name"] == "demo-podium-head"]


def test_one_service_on_postgres_has_a_volume_of_its_own() -> None:
    values = values_of("postgres-values.yaml")
    (head,) = _heads(values)
    assert head["spec"]["replicas"] == 1 and len(head["spec"]["volumeClaimTemplates"]) == 1
    arguments = container(pods(values)["demo-podium-head"])["args"]
    assert _option(arguments, "--database-url-file") == "/etc/podium/database/database-url"
    assert "--standby" not in arguments and not of_kind("PersistentVolumeClaim", values)


def test_existing_ray_cluster_is_joined_and_none_is_made() -> None:
    values = values_of("ray-address-values.yaml")
    found = pods(values)
    assert set(found) == {"demo-podium-head"}
    arguments = container(found["demo-podium-head"])["args"]
    assert _option(arguments, "--ray-address") == "group-head-svc.ray.svc.cluster.local:6379"
    assert "--node-data-dir" not in arguments, "its nodes have no volume of the chart"


def test_values_of_ray_become_options_of_the_head() -> None:
    arguments = container(pods(values_of("ray-options-values.yaml"))["demo-podium-head"])["args"]
    expected = {
        "--max-slots": "20", "--cpus-per-slot": "4", "--idle-release": "60", "--node-data-dir": "/data/trials",
        "--devices": "gpu", "--artifact-url": "s3://our-bucket/podium", "--cluster": "$(PODIUM_ADDRESS)",
    }  # fmt: skip
    assert {option: _option(arguments, option) for option in expected} == expected


def test_token_of_ray_is_a_mounted_file() -> None:
    found = pods(RAY)
    arguments = container(found["demo-podium-head"])["args"]
    paths = {"demo-podium-head": _option(arguments, "--ray-token")}
    for name in ("ray-head", "ray-gpu"):
        variables = {each["name"]: each["value"] for each in container(found[name])["env"]}
        assert variables["RAY_AUTH_MODE"] == "token"
        paths[name] = variables["RAY_AUTH_TOKEN_PATH"]
    for name, path in paths.items():
        (mount,) = [each for each in container(found[name])["volumeMounts"] if each["name"] == "ray-token"]
        (volume,) = [each for each in found[name]["spec"]["volumes"] if each["name"] == "ray-token"]
        assert path == f"{mount['mountPath']}/auth_token"
        assert volume["secret"]["secretName"] == "podium-ray-token"


def test_head_of_a_ray_cluster_without_a_token_gets_none() -> None:
    values = "ray: {enabled: true, address: 'ray:6379', tokenSecret: ''}\nnetworkPolicy: {enabled: false}"
    head = pods(values)["demo-podium-head"]
    assert "--ray-token" not in container(head)["args"]
    assert "ray-token" not in [each["name"] for each in head["spec"]["volumes"]]


def test_probes_of_ray_do_not_need_its_dashboard() -> None:
    found = pods(RAY)
    (cluster,) = of_kind("RayCluster", RAY)
    worker_port = cluster["spec"]["workerGroupSpecs"][0]["rayStartParams"]["node-manager-port"]
    for name, port in (("ray-head", 6379), ("ray-gpu", int(worker_port))):
        for probe in ("livenessProbe", "readinessProbe"):
            assert container(found[name])[probe]["tcpSocket"]["port"] == port


@pytest.mark.parametrize("values", [STORE, STORE + RAY])
def test_only_head_and_nodes_get_the_credentials_of_the_store(values: str) -> None:
    sources = {name: container(pod).get("envFrom", []) for name, pod in pods(values).items()}
    assert sources.pop("ray-head", []) == []
    assert len(sources) == 2
    assert all(source == [{"secretRef": {"name": "store"}}] for source in sources.values())


@pytest.mark.parametrize("file", [file for file in VALUES if file != "pools-values.yaml"])
def test_network_policy_opens_all_ports_between_the_pods(file: str) -> None:
    """Ray chooses ports by itself, and the head connects to the members of ensembles."""
    policy = next(each for each in of_kind("NetworkPolicy", values_of(file)) if "Egress" in each["spec"]["policyTypes"])
    own = policy["spec"]["podSelector"]["matchLabels"]
    (incoming,), outgoing = policy["spec"]["ingress"], policy["spec"]["egress"][0]
    assert "ports" not in incoming and "ports" not in outgoing
    for peers in (incoming["from"], outgoing["to"]):
        assert {"podSelector": {"matchLabels": own}} in peers
    for pod in pods(values_of(file)).values():
        assert own.items() <= pod["metadata"]["labels"].items()


def test_network_policy_admits_the_pods_of_an_existing_ray_cluster() -> None:
    (policy,) = of_kind("NetworkPolicy", values_of("ray-address-values.yaml"))
    for peers in (policy["spec"]["ingress"][0]["from"], policy["spec"]["egress"][0]["to"]):
        assert peers[1]["podSelector"] == {"matchLabels": {"ray.io/cluster": "group"}}


def _option(arguments: list[Any], option: str) -> str:
    """The value of an option; KeyError if it is not there."""
    return str(dict(itertools.pairwise(arguments))[option])
