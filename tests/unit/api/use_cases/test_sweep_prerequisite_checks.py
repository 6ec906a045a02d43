"""Checks of a submission that need the service: paths, uploaded code, nodes, repeated checks of classes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from podium.api.http.service_context import ServiceContext
from podium.api.use_cases.sweep_prerequisite_checks import check_sweep
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.errors import InvalidSpecError
from tests.service_rig import ServiceRig
from tests.specs import builtin_document, document


@pytest.fixture
def context(service: ServiceRig) -> ServiceContext:
    return ServiceContext(service.settings, service.database)


def _refused(context: ServiceContext, sweep: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidSpecError) as caught:
        check_sweep(context, parse_spec(sweep))
    return {".".join(map(str, problem.location)): problem.message for problem in caught.value.problems}


def test_relative_path_of_data_is_refused(context: ServiceContext) -> None:
    program = {"model": "mlp", "data": {"name": "mnist", "root": "files"}}
    found = _refused(context, {**builtin_document(), "program": program})
    assert list(found) == ["program.data.root"] and "/data/files" in found["program.data.root"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("code", "/home/ann/code", "uploaded first"),
        ("bundle", "0" * 64, "no such bundle"),
        (None, None, "not uploaded"),
    ],
)
def test_code_must_be_uploaded(context: ServiceContext, key: str | None, value: Any, words: str) -> None:
    program = {"function": "train:main", **({} if key is None else {key: value})}
    found = _refused(context, document(program=program))
    assert list(found) == [f"program.{key or 'bundle'}"] and words in found[f"program.{key or 'bundle'}"]


def test_node_of_an_existing_cluster_is_refused(context: ServiceContext) -> None:
    sweep = {**builtin_document(), "resources": {"node": "node-b"}}
    check_sweep(context, parse_spec(sweep))
    joined = replace(context, settings=replace(context.settings, existing_cluster=ExistingCluster("10.0.0.5:6379")))
    assert "remove node" in _refused(joined, sweep)["resources.node"]


def test_classes_of_a_sweep_are_checked_once_per_service(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def run(command: list[str], input: str, **others: object) -> subprocess.CompletedProcess[str]:
        started.append(input)
        return subprocess.CompletedProcess(command, 0, json.dumps([None]), "")

    monkeypatch.setattr(subprocess, "run", run)
    sweep = parse_spec({**builtin_document(), "method": {"sampler": "their_samplers:Fine"}})
    for _ in range(2):
        check_sweep(context, sweep)
    assert len(started) == 1
