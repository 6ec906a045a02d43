"""The file of a member's network, as a worker loads it; host and worker processes, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.runtime.safe_file_reads import display_path


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A member's model file: path, expected hash, index of its device among the visible ones, and precision.

    A network that spans devices has `stages`: the index of the device of each, of which `device_index` is the first.

    The code of users' networks is below `data_dir`.
    """

    path: str
    sha256: str
    device_index: int
    data_dir: str = ""
    precision: str = "float32"
    stages: tuple[int, ...] = ()
    trial: str = ""  # what people call the member: `trial 4 of sweep 3`

    @property
    def called(self) -> str:
        """The member and its file, as errors name them."""
        path = display_path(Path(self.path))
        return f"{self.trial} ({path})" if self.trial else path

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelFile:
        """The inverse of `asdict`, from JSON."""
        return cls(**{**values, "stages": tuple(values["stages"])})
