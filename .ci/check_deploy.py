"""Check the files in deploy/ that describe several machines: `check_deploy.py [CHART]`, run by deploy/lint.sh.

Renders the Helm chart with its default values and with each file of its folder ci/, offline, and validates the
manifests against the schemas of Kubernetes and of KubeRay's RayCluster. Also checks that the YAML files are valid, the
compose files against the schema of the Compose Specification, and the shell scripts in them with shellcheck if it is
installed. Prints a line for each problem, and exits with 1 if there are any. Needs helm-python-sdk, kubernetes-validate
and jsonschema.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helm_python
import jsonschema
import kubernetes_validate
from kubernetes_validate import utils
from referencing import Registry, Resource
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "podium"
COMPOSE_SPEC = ROOT / ".ci" / "compose-spec.schema.json"
RAYCLUSTER = ROOT / ".ci" / "raycluster.schema.json"
VERSIONS = ("1.29", kubernetes_validate.latest_version())  # of Kubernetes: the oldest one in Chart.yaml, the newest one
LIVENESS, READINESS = "/healthz", "/readyz"
COMPOSE = ("compose.yaml", "compose.cluster.yaml", "compose.standby.yaml")
STORE_USERS = ("podium", "ray-worker")  # containers that get the credentials of the object store
_WARNING = 2  # severity of a finding of Helm's lint
_SECRET = re.compile(r"TOKEN|PASSWORD|SECRET|CREDENTIAL")
_PATH = re.compile(r"_(PATH|FILE|DIR)$")

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Script:
    """A shell script in a YAML file."""

    where: str
    text: str


def main() -> int:
    """Check everything, and print what was checked."""
    chart = Path(sys.argv[1]) if len(sys.argv) > 1 else CHART
    problems = [*file_problems(), *version_problems(chart), *chart_problems(chart)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def file_problems() -> Iterator[str]:
    """Of the YAML files outside the chart, and of the scripts in them."""
    found = {}
    for path in (*(DEPLOY / file for file in COMPOSE), DEPLOY / "sky.yaml"):
        try:
            found[path.name] = YAML(typ="safe").load(path)
        except YAMLError as error:
            yield f"{path.relative_to(ROOT)}: {error}"
            return
    yield from image_problems((DEPLOY / "Dockerfile").read_text())
    for file in COMPOSE:
        yield from compose_problems(file, found[file])
    for name, service in found["compose.cluster.yaml"]["services"].items():
        if service.get("entrypoint") == ["sh", "-c"]:
            script = service["command"][0].replace("$$", "$")
            yield from script_problems(Script(f"compose.cluster.yaml, {name}", script))
    for key in ("setup", "run"):
        yield from script_problems(Script(f"sky.yaml, {key}", found["sky.yaml"][key]))


def version_problems(chart: Path) -> Iterator[str]:
    """The versions in the chart are those of the package and of the installed Ray."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    about = YAML(typ="safe").load(chart / "Chart.yaml")
    for key in ("version", "appVersion"):
        if about[key] != package:
            yield f"Chart.yaml: {key} is {about[key]}, and that of the package is {package}"
    ray = YAML(typ="safe").load(chart / "values.yaml")["ray"]["version"]
    if f"ray=={ray}" not in (ROOT / "constraints.txt").read_text().splitlines():
        yield f"values.yaml: ray.version is {ray}, and constraints.txt has another one"


def chart_problems(chart: Path) -> Iterator[str]:
    """Of the chart, with its default values and with each file of its folder ci/."""
    for file in (chart / "values.yaml", *sorted((chart / "ci").glob("*.yaml"))):
        yield from values_problems(chart, file)


def values_problems(chart: Path, file: Path) -> Iterator[str]:
    """Of the chart with this file of values."""
    name = file.relative_to(chart)
    try:
        values = helm_python.values_from_yaml(file.read_text())
        yield from (f"chart, {name}: {problem}" for problem in _with_values(chart, values))
    except (helm_python.HelmError, YAMLError) as error:
        yield f"chart, {name}: {error}"


def _with_values(chart: Path, values: dict[str, Any]) -> Iterator[str]:
    for finding in helm_python.lint(chart, values, strict=True)["messages"]:
        if finding["severity"] >= _WARNING:
            yield f"{finding['path']}: {finding['error']}"
    with helm_python.Chart.load(chart) as loaded:
        loaded.validate_schema(values)
        rendered = loaded.render(values, name="demo", namespace="research")
    names = set()
    for template, text in rendered.items():
        if not template.endswith(".yaml"):
            continue
        for manifest in YAML(typ="safe").load_all(text):
            if manifest is None:
                continue
            where = f"{Path(template).name}: {manifest.get('kind')} {manifest.get('metadata', {}).get('name')}"
            if where in names:
                yield f"{where} is rendered twice"
            names.add(where)
            yield from (f"{where}: {problem}" for problem in manifest_problems(manifest))


def manifest_problems(manifest: Manifest) -> Iterator[str]:
    """Of one rendered object, and of the pods in it."""
    if manifest.get("kind") == "RayCluster":
        problems = list(raycluster_problems(manifest))
        yield from problems
        spec = manifest["spec"]
        pods = [] if problems else [group["template"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    else:
        yield from _kubernetes_problems(manifest)
        pods = [manifest["spec"]["template"]] if manifest.get("kind") == "StatefulSet" else []
    for pod in pods:
        yield from pod_problems(pod["spec"])


def raycluster_problems(manifest: Manifest) -> Iterator[str]:
    """Of a RayCluster, with the pods and the other types of Kubernetes in it; unknown fields are problems."""
    schema = json.loads(RAYCLUSTER.read_text())
    for version in VERSIONS:
        problems = _schema_problems(manifest, schema, _kubernetes_types(version))
        yield from (f"Kubernetes {version}: {problem}" for problem in problems)


def pod_problems(pod: dict[str, Any]) -> Iterator[str]:
    """What Kubernetes permits in a pod, and this chart does not."""
    if pod.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken is not false"
    if not pod.get("securityContext", {}).get("runAsNonRoot"):
        yield "securityContext.runAsNonRoot is not true"
    volumes = {volume["name"] for volume in pod.get("volumes", ())} | {"data"}
    for container in pod["containers"]:
        name = container["name"]
        security = container.get("securityContext", {})
        if security.get("allowPrivilegeEscalation") is not False or security.get("capabilities") != {"drop": ["ALL"]}:
            yield f"{name}: its securityContext permits more rights"
        yield from (f"{name}: {problem}" for problem in probe_problems(container))
        for mount in container.get("volumeMounts", ()):
            if mount["name"] not in volumes:
                yield f"{name}: there is no volume {mount['name']}"
        if container.get("envFrom") and name not in STORE_USERS:
            yield f"{name}: its environment has a whole Secret; only {' and '.join(STORE_USERS)} use the object store"
        for variable in container.get("env", ()):
            if _SECRET.search(variable["name"]) and not _PATH.search(variable["name"]):
                yield f"{name}: the variable {variable['name']} is a secret in the environment; mount a file"
        probe = container.get("livenessProbe", {}).get("exec", {}).get("command", [])
        for what, command in (("command", container.get("command", [])), ("livenessProbe", probe)):
            if command[:2] == ["sh", "-c"]:
                yield from script_problems(Script(f"{name}, {what}", command[2]))


def probe_problems(container: dict[str, Any]) -> Iterator[str]:
    """Of the probes of a container: what restarts it asks whether it is alive, and readiness whether it is ready."""
    for kind in ("livenessProbe", "readinessProbe"):
        if kind not in container:
            yield f"it has no {kind}"
    for kind in ("startupProbe", "livenessProbe"):
        if _asks(container.get(kind), READINESS):
            yield f"its {kind} asks {READINESS}, so a component that restarts would restart the container"
    if _asks(container.get("readinessProbe"), LIVENESS):
        yield f"its readinessProbe asks {LIVENESS}, which answers before the service is ready"


def compose_problems(file: str, project: dict[str, Any]) -> Iterator[str]:
    """Of a compose file: by the schema of the specification, and of its health checks, for which others wait."""
    described = {key: value for key, value in project.items() if key != "name"}  # which came after the schema
    yield from (f"{file}: {problem}" for problem in _schema_problems(described, json.loads(COMPOSE_SPEC.read_text())))
    for name, service in project["services"].items():
        check = service.get("healthcheck", {})
        if not check.get("test"):
            yield f"{file}: {name} has no healthcheck of its own; that of the image asks whether the API is alive"
        elif _asks(check, LIVENESS):
            yield f"{file}: the healthcheck of {name} asks {LIVENESS}, which answers before the service is ready"


def image_problems(dockerfile: str) -> Iterator[str]:
    """Of the health check of the image: those who restart containers use it."""
    if not re.search(rf"^HEALTHCHECK .*\n.*{LIVENESS}", dockerfile, re.MULTILINE):
        yield f"Dockerfile: its HEALTHCHECK does not ask {LIVENESS}"


def _asks(probe: Any, path: str) -> bool:
    return path in json.dumps(probe)


def script_problems(script: Script) -> Iterator[str]:
    """Of a shell script, according to shellcheck; none where it is not installed."""
    if shutil.which("shellcheck") is None:
        return
    command = ["shellcheck", "--shell=sh", "--format=gcc", "-"]
    done = subprocess.run(command, input=script.text, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        yield f"{script.where}: {line.removeprefix('-:')}"


def _kubernetes_problems(manifest: Manifest) -> Iterator[str]:
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"Kubernetes {version}: {error.message}"


@functools.cache
def _kubernetes_types(version: str) -> Registry[Any]:
    """The definitions to which the schema of RayCluster refers."""
    newest = [each for each in utils.all_versions() if utils.major_minor(each) == utils.major_minor(version)][-1]
    path = f"kubernetes-json-schema/v{newest}-local-strict/_definitions.json"
    return Resource.from_contents(utils.schema_contents(path, version)) @ Registry()


def _schema_problems(manifest: Manifest, schema: dict[str, Any], types: Registry[Any] | None = None) -> Iterator[str]:
    validator = jsonschema.validators.validator_for(schema)
    for error in validator(schema, registry=types or Registry()).iter_errors(manifest):
        yield f"{'.'.join(map(str, error.absolute_path))}: {error.message}"


if __name__ == "__main__":
    sys.exit(main())
