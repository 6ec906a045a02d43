"""JSON Schema of the sweep file: it accepts what the models accept, and describes every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from podium.sweep.spec import early_termination
from podium.sweep.spec.json_schema import sweep_schema
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile.document_parser import read_document
from podium.sweep.specfile.program_existence_check import check_code
from podium.sweep.specfile.spec_file import read_sweep_file
from podium.sweep.specfile.wandb_file import is_wandb
from tests.commands import Podium
from tests.repository import ROOT
from tests.specs import builtin_document, document

EXAMPLES = sorted(ROOT.glob("examples/**/*.yaml"))
VALIDATOR = Draft202012Validator(sweep_schema())


def test_sweep_schema_is_valid_json_schema() -> None:
    Draft202012Validator.check_schema(sweep_schema())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_example_is_valid(file: Path) -> None:
    plain = read_document(file).plain
    if not is_wandb(plain):
        VALIDATOR.validate(plain)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_code_of_every_example_exists(file: Path) -> None:
    read = read_sweep_file(file)
    assert (check_code(read.document["program"], file.parent) is None) == ("model" in read.document["program"])


GOOD: dict[str, dict[str, Any]] = {
    "minimal": document(),
    "built in": builtin_document(),
    "W&B's method name": document(method="bayes"),
    "several objectives": document(
        metric=None, metrics=[{"name": "a", "goal": "maximize"}, {"name": "b", "goal": "minimize"}]
    ),
    "a condition": document(parameters={"a": {"values": ["x", 1, None]}, "b": {"value": 2, "when": {"a": ["x"]}}}),
    "a distribution": document(parameters={"a": {"distribution": "normal", "mu": 0.0, "sigma": 2.0}}),
    "split fractions": builtin_document(validation={"split": [0.4, 0.2, 0.2, 0.2]}),
}
BAD: dict[str, dict[str, Any]] = {
    "an unknown key": {**document(), "run_kap": 3},
    "an unknown key below": document(limits={"trial": 3}),
    "no metric": document(metric=None),
    "a parameter of no kind": document(parameters={"a": {}}),
    "min without max": document(parameters={"a": {"min": 1}}),
    "an unknown method": document(method="best"),
    "a string for a number": document(run_cap="60"),
    "a number below its bound": document(run_cap=0),
    "a list for a block": document(limits=[]),
    "three split fractions": document(validation={"split": [0.4, 0.2, 0.4]}),
    "no program": document(program=None),
}


@pytest.mark.parametrize("plain", GOOD.values(), ids=GOOD)
def test_schema_accepts_what_models_accept(plain: dict[str, Any]) -> None:
    parse_spec(plain)
    VALIDATOR.validate(plain)


@pytest.mark.parametrize("plain", BAD.values(), ids=BAD)
def test_schema_rejects_invalid_document(plain: dict[str, Any]) -> None:
    assert list(VALIDATOR.iter_errors(plain))


def test_every_key_has_a_description() -> None:
    assert [key for key, about in _keys(sweep_schema()) if not about.get("description")] == []


def test_each_pruning_rule_is_described_in_order() -> None:
    for block in (block for block in sweep_schema()["$defs"].values() if "pruner" in block.get("properties", {})):
        rules = block["properties"]["type"]
        assert dict(zip(rules["enum"], rules["enumDescriptions"], strict=True)) == early_termination.SUMMARIES
        assert rules["enum"] == list(early_termination.SUMMARIES)


def _keys(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    blocks = {"": schema, **schema["$defs"]}
    for block, about in blocks.items():
        for name, described in about.get("properties", {}).items():
            yield f"{block}.{name}", described


def test_schema_is_printed_and_served_without_token(podium: Podium, client: TestClient) -> None:
    code, out, _ = podium("schema")
    assert (code, json.loads(out)) == (0, sweep_schema())
    del client.headers["Authorization"]
    answer = client.get("/schemas/sweep-v1.json")
    assert (answer.status_code, answer.json()) == (200, sweep_schema())
    assert answer.headers["Content-Type"] == "application/schema+json"
