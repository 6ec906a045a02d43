"""The JSON Schema (draft 2020-12) of the sweep file, generated from the models; CLI and api process."""

from __future__ import annotations

import functools
from typing import Any

from podium.sweep.spec.search_method_registry import descriptions
from podium.sweep.spec.sweep_spec import SweepSpec

ID = "urn:podium:sweep-v1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KINDS = ("value", "values", "distribution")


@functools.cache
def sweep_schema() -> dict[str, Any]:
    """The schema. It is necessary, not sufficient: rules between keys are checked by `parse_spec` only."""
    schema = SweepSpec.model_json_schema()
    schema["required"] = [key for key in schema["required"] if key != "metric"]
    schema["anyOf"] = [{"required": ["metric"]}, {"required": ["metrics"]}]
    _describe_methods(schema["properties"]["method"])
    _also_alone(schema["properties"]["stop"])
    parameter = schema["$defs"]["Parameter"]
    kinds = [{"required": [kind]} for kind in _KINDS if kind in parameter["properties"]]
    parameter["anyOf"] = [*kinds, {"required": ["min", "max"]}]
    for block in (block for block in schema["$defs"].values() if "pruner" in block.get("properties", {})):
        block["required"] = [key for key in block["required"] if key != "type"]
        block["anyOf"] = [{"required": ["type"]}, {"required": ["pruner"]}]
    _describe_blocks(schema)
    _one_sentence(schema)
    return {"$schema": DIALECT, "$id": ID, **schema, "title": "Podium sweep file"}


def _describe_methods(method: dict[str, Any]) -> None:
    """All names that the key `method` accepts; editors and the form show `enumDescriptions` for each."""
    names = next(branch for branch in method["oneOf"] if "enum" in branch)
    found = descriptions()
    names["enum"], names["enumDescriptions"] = list(found), list(found.values())


def _also_alone(stop: dict[str, Any]) -> None:
    """A single condition needs no list, and Ray's `{metric: at}` is accepted."""
    several = {key: stop.pop(key) for key in ("type", "items", "maxItems")}
    numbers = {"type": "object", "additionalProperties": {"type": "number"}}
    stop["anyOf"] = [several["items"], several, numbers]


def _describe_blocks(schema: dict[str, Any]) -> None:
    """Describes a key that is a block by the first paragraph of the block's own description."""
    for block in (schema, *schema["$defs"].values()):
        for described in block.get("properties", {}).values():
            if "description" not in described and "$ref" in described:
                whole = schema["$defs"][described["$ref"].rpartition("/")[2]].get("description", "")
                described["description"] = whole.partition("\n\n")[0]


def _one_sentence(node: Any) -> None:
    """Joins the lines of each description, which editors show as one, and removes generated titles."""
    if isinstance(node, dict):
        if isinstance(node.get("description"), str):
            node["description"] = " ".join(node["description"].split())
        if isinstance(node.get("title"), str):
            del node["title"]
        for value in list(node.values()):
            _one_sentence(value)
    elif isinstance(node, list):
        for value in node:
            _one_sentence(value)
