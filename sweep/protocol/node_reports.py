"""What the agent of a node reports to the head; node agent and api."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from podium.sweep.values.device import NODE_NAME

MAX_TEXT = 200  # characters of any other text in a report
_FOLDER = re.compile(r"trials/[0-9]+/[0-9]+/[0-9a-z-]+")
_PROCESS = re.compile(rf"[0-9]{{1,10}} {_FOLDER.pattern}")
MAX_LEFT = 20  # folders, and processes, that a report names


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
    # Of attempts that were over for the head when the node last asked, and at the time before: some of them.
    left_folders: tuple[str, ...] = ()  # keys
    left_processes: tuple[str, ...] = ()  # as `process_in` writes them

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, as JSON has them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NodeReport:
        """The inverse of `to_dict`; other members are ignored, and those that an older agent does not send are empty.

        Raises `ValueError` that names the wrong member.
        """
        sent = [each for each in fields(cls) if each.default is MISSING or each.name in values]
        return cls(**{each.name: _checked(each.name, str(each.type), values.get(each.name)) for each in sent})


def process_in(pid: int, folder: str) -> str:
    """A process, by its id on the node, with the key of the folder of its attempt."""
    return f"{pid} {folder}"


def split_process(text: str) -> tuple[int, str]:
    """The inverse of `process_in`."""
    pid, _, folder = text.partition(" ")
    return int(pid), folder


def _checked(name: str, kind: str, value: Any) -> Any:
    if kind.startswith("tuple"):
        return _checked_left(name, value)
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


def _checked_left(name: str, value: Any) -> tuple[str, ...]:
    pattern = _FOLDER if name == "left_folders" else _PROCESS
    if not isinstance(value, list) or len(value) > MAX_LEFT:
        raise ValueError(f"{name}: not a list of at most {MAX_LEFT} strings in the report of a node")
    for each in value:
        if not isinstance(each, str) or len(each) > MAX_TEXT or pattern.fullmatch(each) is None:
            raise ValueError(f"{name}: {each!r} is not valid in the report of a node")
    return tuple(value)
