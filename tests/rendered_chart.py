"""The Helm chart, rendered with given values, and `.ci/check_deploy.py` as a module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.repository import ROOT, loaded

check_deploy = loaded(ROOT / ".ci" / "check_deploy.py")
CHART: Path = check_deploy.CHART
RenderError = check_deploy.helm_python.HelmRenderError
VALUES = ("", *sorted(path.name for path in (check_deploy.CHART / "ci").glob("*.yaml")))  # "": the default ones


def values_of(file: str) -> str:
    """The text of a file of `ci/`; "" for ""."""
    return (check_deploy.CHART / "ci" / file).read_text() if file else ""


def rendered(values: str = "", chart: Path = CHART) -> list[dict[str, Any]]:
    """The objects of the chart."""
    with check_deploy.helm_python.Chart.load(chart) as loaded_chart:
        found = loaded_chart.render(
            check_deploy.helm_python.values_from_yaml(values), name="demo", namespace="research"
        )
    texts = (text for name, text in found.items() if name.endswith(".yaml"))
    return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]


def of_kind(kind: str, values: str = "") -> list[dict[str, Any]]:
    """The objects of this kind."""
    return [manifest for manifest in rendered(values) if manifest["kind"] == kind]


def pods(values: str = "") -> dict[str, dict[str, Any]]:
    """The pod templates of the chart and of its RayCluster, by the name of the object or of the group."""
    found = {each["metadata"]["name"]: each["spec"]["template"] for each in of_kind("StatefulSet", values)}
    for cluster in of_kind("RayCluster", values):
        found["ray-head"] = cluster["spec"]["headGroupSpec"]["template"]
        found |= {f"ray-{group['groupName']}": group["template"] for group in cluster["spec"]["workerGroupSpecs"]}
    return found


def container(pod: dict[str, Any]) -> dict[str, Any]:
    """The only container of a pod template."""
    (found,) = pod["spec"]["containers"]
    return dict(found)
