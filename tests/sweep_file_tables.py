"""The tables of keys in docs/reference/sweep-file.md, from the JSON Schema of the sweep file."""

from __future__ import annotations

import json
from typing import Any

from podium.sweep.spec.json_schema import sweep_schema

# Each block with its heading.
BLOCKS = {
    "": "The file",
    "SamplerClass": "method, a sampler class",
    "PopulationBasedTraining": "method, population-based training",
    "IntervalLength": "method.interval",
    "Replay": "method, a repeated schedule",
    "ScheduledInterval": "method.schedule",
    "Metric": "metric",
    "StopCondition": "stop",
    "Parameter": "parameters.NAME",
    "EarlyTerminate": "early_terminate",
    "FixFrom": "fix_from",
    "Budget": "budget",
    "Plateau": "budget.plateau",
    "BuiltinProgram": "program, a built-in model",
    "FunctionProgram": "program, your function",
    "CommandProgram": "program, your script",
    "Data": "program.data",
    "Validation": "validation",
    "Resources": "resources",
    "DeviceRange": "resources.devices, a range",
    "SpecLimits": "limits",
    "Retries": "retries",
    "Keep": "keep",
    "EnsembleOptions": "ensemble",
}


def key_tables() -> str:
    """The keys of all blocks as Markdown tables: key, type, default, description."""
    schema = sweep_schema()
    blocks = {"": schema, **schema["$defs"]}
    return "\n".join(_table(title, blocks[name], blocks) for name, title in BLOCKS.items() if name in blocks)


def _table(title: str, block: dict[str, Any], blocks: dict[str, Any]) -> str:
    lines = [f"### {title}", "", "| key | type | default | description |", "| --- | --- | --- | --- |"]
    required = set(block.get("required", ()))
    either = {key for kind in block.get("anyOf", ()) for key in kind["required"]}
    for key, about in block["properties"].items():
        default = "required" if key in required else "one of these" if key in either else _default(about)
        lines.append(f"| `{key}` | {_type(about, blocks)} | {default} | {_cell(about.get('description', ''))} |")
    return "\n".join([*lines, ""])


def _default(about: dict[str, Any]) -> str:
    default = about.get("default")
    return "" if default in (None, [], {}) or isinstance(default, dict) else f"`{json.dumps(default)}`"


def _type(about: dict[str, Any], blocks: dict[str, Any]) -> str:
    """A short name of the type of a value."""
    if "$ref" in about:
        target = blocks[about["$ref"].rpartition("/")[2]]
        return _type(target, blocks) if "enum" in target else "block"
    if "enum" in about:
        return ", ".join(f"`{value}`" for value in about["enum"])
    if branches := about.get("anyOf") or about.get("oneOf"):
        kinds = dict.fromkeys(_type(branch, blocks) for branch in branches)
        kinds.pop("null", None)
        return _joined(list(kinds))
    if about.get("type") == "array":
        return f"list of {_plural(_type(about['items'], blocks))}" if isinstance(about.get("items"), dict) else "list"
    names = {"integer": "integer", "string": "string", "boolean": "boolean", "object": "mapping"}
    return names.get(str(about.get("type")), str(about.get("type", "anything")))


def _joined(kinds: list[str]) -> str:
    if {"string", "number"} <= set(kinds):
        return "scalar" if not any("list" in kind for kind in kinds) else "scalar or list"
    return " or ".join(kind for kind in kinds if not (kind == "integer" and "number" in kinds))


def _cell(text: str) -> str:
    """A description in lower case, without a final full stop."""
    first = text[:1].lower() if text[1:2].islower() or text[1:2] == " " else text[:1]
    return f"{first}{text[1:]}".rstrip(".").replace("|", "\\|")


def _plural(kinds: str) -> str:
    """ "integer or string" as "integers or strings"."""
    return " or ".join(f"{kind}s" for kind in kinds.split(" or "))
