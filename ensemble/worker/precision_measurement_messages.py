"""What the host asks a process that measures precisions, and its result; host and measuring process, without torch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.values.precision_selection import PrecisionFigures, figures_from
from podium.ensemble.worker.model_file_spec import ModelFile

MAX_ROWS = 4096  # of a split that are measured


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """A member, the precisions to measure, and on which rows: those of a split, or of the file `posted`."""

    file: ModelFile
    precisions: tuple[Precision, ...]
    threads: int
    split: str = ""
    posted: str = ""
    max_rows: int = MAX_ROWS

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MeasurementRequest:
        values = json.loads(text)
        values["file"] = ModelFile.from_dict(values["file"])
        values["precisions"] = tuple(map(Precision, values["precisions"]))
        return cls(**values)


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """The figures of each precision, or the problem that prevents all of them."""

    figures: tuple[PrecisionFigures, ...] = ()
    rows: int = 0
    device: str = ""  # the kind: cpu or cuda
    problem: str = ""

    def to_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> MeasurementResult:
        values = json.loads(line)
        return cls(**{**values, "figures": tuple(map(figures_from, values["figures"]))})
