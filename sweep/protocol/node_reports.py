"""What the agent of a node reports to the head; node agent and api."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from podium.sweep.values.device import NODE_NAME

MAX_TEXT = 200  # characters of any other text in a report


@dataclass(frozen=True, slots=True)
class NodeReport:
    """The state of a node, by its agent."""

    name: str
    address: str
    podium_version: str
    python_version: str
    ray_version: str
    cores: int
    gpus: int
    memory_bytes: int
    disk_free_bytes: int  # where it keeps its files
    cache_bytes: int  # of code, data and checkpoints that it keeps
    clock_offset_s: float  # its clock minus that of the head
    uploads_waiting: int  # attempts that run there, or whose end is not recorded
    member_port: int  # at which its agent starts members of ensembles; 0: it does not
    certificate: str  # SHA-256 of the certificate of that port and of its members; "" without

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NodeReport:
        """The inverse of `to_dict`; other members are ignored. Raises `ValueError` that names the wrong member."""
        return cls(**{each.name: _checked(each.name, str(each.type), values.get(each.name)) for each in fields(cls)})


def _checked(name: str, kind: str, value: Any) -> Any:
    if kind == "str":
        valid = isinstance(value, str) and len(value) <= MAX_TEXT
        if name == "name":
            valid = valid and NODE_NAME.fullmatch(value) is not None
    elif kind == "int":
        valid = type(value) is int and 0 <= value < 2**63
    else:
        valid = type(value) in (int, float) and math.isfinite(value)
    if not valid:
        raise ValueError(f"{name}: {value!r} is not valid in the report of a node")
    return value
