"""The metadata of a saved user network, from which ensembles rebuild it; trial process, host and workers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import prod
from pathlib import Path
from typing import Any

from podium.sweep.values.code_references import is_reference

HEADER = "user_network"  # in the metadata of the model's file
EXAMPLE, ANSWERS = "podium.example", "podium.answers"  # tensors next to the weights: some input rows and their outputs
EXAMPLE_ROWS = 4
MAX_FEATURES = 2**31


class Outputs(StrEnum):
    """The kind of a network's outputs."""

    LOGITS = "logits"  # of classes; a single one is that of the second of two classes
    PROBABILITIES = "probabilities"  # likewise
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class NetworkManifest:
    """How a user's network is built, its inputs and its outputs."""

    build: str  # module:function
    bundle: str | None  # SHA-256 of the code bundle; None if workers cannot load the code
    code_sha256: str  # of the modules in the bundle, as the trial ran them
    params: dict[str, Any]
    shape: tuple[int, ...]  # of one row
    dtype: str
    outputs: Outputs
    classes: tuple[str, ...]  # in regression, the names of the outputs
    data: dict[str, Any] | None = None  # `program.data`; None if the trial uses its own data
    split: dict[str, Any] = field(default_factory=dict)
    rows_sha256: str | None = None  # of the rows of `data` in their splits

    @property
    def features(self) -> int:
        """The length of a flattened row."""
        return prod(self.shape)

    @property
    def task(self) -> str:
        return "regression" if self.outputs is Outputs.VALUES else "classification"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> NetworkManifest:
        """The inverse of `to_json`; raises `ValueError`, `TypeError` or `KeyError` for invalid metadata.

        A trial can write any content, so everything that becomes a path, an import or a size is checked.
        """
        values: dict[str, Any] = json.loads(text)
        if (wrong := _first_invalid_key(values)) is not None:
            raise ValueError(f"invalid {wrong} of the network: {values.get(wrong)!r:.80}")
        return cls(
            **{
                **values,
                "shape": tuple(values["shape"]),
                "outputs": Outputs(values["outputs"]),
                "classes": tuple(values["classes"]),
            }
        )


def _first_invalid_key(values: Mapping[str, Any]) -> str | None:
    """The first key with an invalid value, or None."""
    allowed = {
        "build": isinstance(values["build"], str) and is_reference(values["build"]),
        "bundle": values["bundle"] is None or is_sha256(values["bundle"]),
        "code_sha256": values["code_sha256"] == "" or is_sha256(values["code_sha256"]),
        "params": isinstance(values["params"], dict),
        "shape": is_shape(values["shape"]),
        "dtype": isinstance(values["dtype"], str) and values["dtype"].isidentifier(),
        "outputs": values["outputs"] in list(Outputs),
        "classes": is_names(values["classes"]),
        "rows_sha256": values.get("rows_sha256") is None or is_sha256(values["rows_sha256"]),
        "data": values.get("data") is None or is_data(values["data"]),
        "split": is_split(values.get("split", {}), needed=values.get("data") is not None),
    }
    return next((key for key, sound in allowed.items() if not sound), None)


def is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def is_shape(value: Any) -> bool:
    """Whether it is the shape of a row, of up to 2^31 values."""
    return isinstance(value, list) and all(type(n) is int and n > 0 for n in value) and prod(value) < MAX_FEATURES


def is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def is_data(value: Any) -> bool:
    """Whether it has the form of `program.data`: strings, and a list of columns."""
    if not isinstance(value, dict) or not any(isinstance(value.get(key), str) for key in ("name", "file", "idx")):
        return False
    others = {key: text for key, text in value.items() if key != "features"}
    features = value.get("features")
    return (features is None or is_names(features)) and all(isinstance(v, str | None) for v in others.values())


def is_split(value: Any, *, needed: bool) -> bool:
    """Whether it has the form of `validation`; may be empty if there is no data."""
    if value == {}:
        return not needed
    shares = value.get("split") if isinstance(value, dict) else None
    numbers = isinstance(shares, list) and len(shares) == 4 and all(isinstance(share, int | float) for share in shares)
    return numbers and type(value.get("seed")) is int


@dataclass(frozen=True, slots=True)
class NotExportable:
    """A saved network that cannot join an ensemble, with the reason."""

    reason: str

    def to_json(self) -> str:
        return json.dumps({"unfit": self.reason})


def read_header(metadata: Mapping[str, str]) -> NetworkManifest | NotExportable | None:
    """The metadata of a model file; None if it is not a user network. Raises as `NetworkManifest.from_json`."""
    text = metadata.get(HEADER)
    if text is None:
        return None
    values = json.loads(text)
    return NotExportable(str(values["unfit"])) if "unfit" in values else NetworkManifest.from_json(text)


def code_digest(folder: Path) -> str:
    """The SHA-256 of the names and contents of the Python modules in a folder, to detect changes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
