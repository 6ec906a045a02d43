"""What the file of a user's network says of it, so that it can be built again; pure, trial, host and members."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import prod
from pathlib import Path
from typing import Any

HEADER = "user_network"  # in the metadata of the model's file
EXAMPLE, ANSWERS = "podium.example", "podium.answers"  # beside the weights: some rows, and what was said of them
EXAMPLE_ROWS = 4
TARGETS = "targets."  # before the split's name, beside the predictions: what is true of its rows
TARGETS_SHA256 = "targets_sha256"  # in the metadata of the predictions: of all targets in the file


class Outputs(StrEnum):
    """What a network's outputs are."""

    LOGITS = "logits"  # of classes; one alone is that of the second of two
    PROBABILITIES = "probabilities"  # likewise
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class UserNetwork:
    """How a user's network is built, what it takes, and what it answers with."""

    build: str  # module:function
    bundle: str | None  # SHA-256 of the code; None: it came from nowhere that a member could load it from
    code_sha256: str  # of the modules in the bundle, as the trial ran them
    params: dict[str, Any]
    shape: tuple[int, ...]  # of one row
    dtype: str
    outputs: Outputs
    classes: tuple[str, ...]  # with values the names of the outputs
    data: dict[str, Any] | None = None  # `program.data`, whose splits the trial had; None: it brought its own
    split: dict[str, Any] = field(default_factory=dict)
    rows_sha256: str | None = None  # of the rows of `data` in their splits

    @property
    def features(self) -> int:
        """How long a row is as ensembles have it: flat."""
        return prod(self.shape)

    @property
    def task(self) -> str:
        return "regression" if self.outputs is Outputs.VALUES else "classification"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> UserNetwork:
        """The inverse of `to_json`; raises `ValueError`, `TypeError` or `KeyError` for what is none."""
        values: dict[str, Any] = json.loads(text)
        return cls(
            **{
                **values,
                "shape": tuple(values["shape"]),
                "outputs": Outputs(values["outputs"]),
                "classes": tuple(values["classes"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Unfit:
    """A network that was kept, but cannot join an ensemble, and why."""

    reason: str

    def to_json(self) -> str:
        return json.dumps({"unfit": self.reason})


def read_header(metadata: Mapping[str, str]) -> UserNetwork | Unfit | None:
    """What a model's file says; None: it is not one of a user's network. Raises as `UserNetwork.from_json`."""
    text = metadata.get(HEADER)
    if text is None:
        return None
    values = json.loads(text)
    return Unfit(values["unfit"]) if "unfit" in values else UserNetwork.from_json(text)


def code_digest(folder: Path) -> str:
    """The SHA-256 of the Python modules in a folder, by name and content: whether the code is what it was."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
