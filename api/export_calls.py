"""Sweeps out of a service and studies into it, as methods of the Python client; cli, notebooks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from api.connection import Connection
from sweep.errors import PodiumError
from sweep.files import appearing

TableFormat = Literal["csv", "parquet", "jsonl"]


class ExportCalls(Connection):
    """What notebooks, spreadsheets and other tools read."""

    def export(self, sweep_id: int, path: Path | str, table: TableFormat | None = None) -> Path:
        """Write a sweep's trials to a file as CSV, Parquet or JSON lines, which its suffix says if `table` does not.

        The file appears whole. Raises `NotFoundError`, and `PodiumError` where the service lacks pyarrow for Parquet.
        """
        target = Path(path)
        suffix = table or target.suffix.removeprefix(".")
        if suffix not in get_args(TableFormat):
            raise PodiumError(f"{target} does not end in .csv, .parquet or .jsonl; say which with table=")
        path = f"{_sweep(sweep_id)}/export.{suffix}"
        with self._stream(path) as response, appearing(target) as file:
            _copy(response.iter_bytes(), file)
        return target

    def exported_trials(self, sweep_id: int, *, curves: bool = True) -> Iterator[dict[str, Any]]:
        """Every trial with all that is known of it; without `curves`, `metrics` is empty."""
        params = {"curves": str(curves).lower()}
        with self._stream(f"{_sweep(sweep_id)}/export.jsonl", params=params) as response:
            for line in response.iter_lines():
                yield json.loads(line)

    def import_sweep(self, document: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Keep a study as a finished sweep. The same one is taken once, however often it is sent.

        `sweep.interop.document_of` makes the document of an Optuna study. Raises `InvalidSpecError`.
        """
        headers = {"Idempotency-Key": idempotency_key or f"import-{_digest(document)}"}
        return self._object("POST", "/api/v1/sweeps/import", json=document, headers=headers)


def _sweep(sweep_id: int) -> str:
    return f"/api/v1/sweeps/{sweep_id}"


def _copy(chunks: Iterator[bytes], file: BinaryIO) -> None:
    for chunk in chunks:
        file.write(chunk)


def _digest(document: dict[str, Any]) -> str:
    """By which the service knows the same study again."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
