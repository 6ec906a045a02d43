"""The OpenAPI document, prepared for the fuzzer: valid examples for what it cannot guess; pure."""

from __future__ import annotations

from typing import Any

TINY: dict[str, Any] = {
    "name": "fuzzed",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 1e-1, "log": True}, "hidden": {"value": 8}, "epochs": {"value": 1}},
    "run_cap": 2,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "post /api/v1/sweeps": TINY,
    "post /api/v1/sweep-files/read": {"text": "name: read\nparameters: {x: {min: 0, max: 1}}\n"},
    "post /api/v1/ensembles": {"name": "fuzzed", "sweep_id": 1, "k": 2},
    "post /api/v1/ensembles/preview": {"name": "fuzzed", "sweep_id": 1, "k": 2},
    "post /api/v1/ensembles/{ensemble_id}/predict": {"inputs": [[0.0] * 64]},
    "post /api/v1/ensembles/{ensemble_id}/evaluate": {"split": "test"},
}
# The routes that use the id of a created resource; the stateful phase follows these links.
LINKS = {
    "post /api/v1/sweeps": ("sweep_id", "/api/v1/sweeps/{sweep_id}"),
    "post /api/v1/ensembles": ("ensemble_id", "/api/v1/ensembles/{ensemble_id}"),
}


_YAML = "application/yaml"


def fuzzing_document(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with examples and links, without what the fuzzer interprets differently.

    These are tuples, and bodies in YAML, whose text it compares with the schema.
    """
    paths = {path: dict(operations) for path, operations in document["paths"].items()}
    for key, example in EXAMPLES.items():
        _body_of(paths, key)["example"] = example
    for key, (name, base) in LINKS.items():
        _responses_of(paths, key)["links"] = _links(paths, name, base)
    plain: dict[str, Any] = _readable({**document, "paths": paths})
    return plain


def _body_of(paths: dict[str, Any], key: str) -> dict[str, Any]:
    method, path = key.split(" ")
    body: dict[str, Any] = paths[path][method]["requestBody"]["content"]["application/json"]
    return body


def _responses_of(paths: dict[str, Any], key: str) -> dict[str, Any]:
    method, path = key.split(" ")
    responses = paths[path][method]["responses"]
    found: dict[str, Any] = responses.get("201") or responses["200"]
    return found


def _links(paths: dict[str, Any], name: str, base: str) -> dict[str, Any]:
    return {
        f"{method} {path}": {"operationId": operation["operationId"], "parameters": {name: "$response.body#/id"}}
        for path, operations in paths.items()
        if path.startswith(base)
        for method, operation in operations.items()
    }


def _readable(value: Any) -> Any:
    if isinstance(value, list):
        return [_readable(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _readable(each) for name, each in value.items() if name not in ("prefixItems", _YAML)}
    if _YAML in value:
        plain[_YAML] = {"schema": {}}
    return {**plain, "items": {}} if isinstance(value.get("prefixItems"), list) else plain
