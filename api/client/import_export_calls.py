"""Exports of sweeps and imports of studies as methods of the Python client; the user's process and the CLI."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args
from urllib.parse import quote

from podium.api.client.connection import Connection
from podium.api.client.sweep_responses import SweepInfo
from podium.api.client.trial_responses import ExportedTrial
from podium.sweep.runtime.atomic_files import open_atomic
from podium.sweep.values.errors import PodiumError

TableFormat = Literal["csv", "parquet", "jsonl"]


class ExportCalls(Connection):
    """Files and records for notebooks, spreadsheets and other tools."""

    def export(
        self, sweep_id: int, path: Path | str, table: TableFormat | None = None, filter: str | None = None
    ) -> Path:
        """Write a sweep's trials to a file as CSV, Parquet or JSON lines: by `table`, or by the suffix of `path`.

        All trials, or those that match a filter. The file is written atomically.
        Raises `NotFoundError`, and `PodiumError` if the service lacks pyarrow for Parquet.
        """
        target = Path(path)
        suffix = table or target.suffix.removeprefix(".")
        if suffix not in get_args(TableFormat):
            raise PodiumError(f"unknown format of {target}: use the suffix .csv, .parquet or .jsonl, or give table=")
        path = f"{_sweep(sweep_id)}/export.{suffix}"
        with (
            self._stream(path, params={} if filter is None else {"filter": filter}) as response,
            open_atomic(target) as file,
        ):
            _copy(response.iter_bytes(), file)
        return target

    def exported_trials(
        self, sweep_id: int, *, curves: bool = True, filter: str | None = None
    ) -> Iterator[ExportedTrial]:
        """Every trial, or those that match a filter, with all stored data; `metrics` only with `curves`."""
        params = {"curves": str(curves).lower()} | ({} if filter is None else {"filter": filter})
        with self._stream(f"{_sweep(sweep_id)}/export.jsonl", params=params) as response:
            for line in response.iter_lines():
                yield json.loads(line)

    def download(self, trial_id: int, name: str, path: Path | str) -> Path:
        """Download a file of a trial, like `model.safetensors` or `artifacts/plot.png`, to `path`, written atomically.

        Raises `NotFoundError`.
        """
        target = Path(path)
        with (
            self._stream(f"/api/v1/trials/{trial_id}/files/{quote(name)}") as response,
            open_atomic(target) as file,
        ):
            _copy(response.iter_bytes(), file)
        return target

    def count_trials(self, sweep_id: int, filter: str | None = None) -> int:
        """The number of trials of a sweep, or of those that match a filter."""
        params: dict[str, Any] = {"limit": 1} | ({} if filter is None else {"filter": filter})
        count: int = self._answer(dict[str, Any], "GET", f"{_sweep(sweep_id)}/table", params=params)["matching"]
        return count

    def import_sweep(self, document: dict[str, Any], *, idempotency_key: str | None = None) -> SweepInfo:
        """Import a study as a finished sweep; importing the same study again returns the same sweep.

        `podium.sweep.studies.study_conversion.to_document` converts an Optuna study to the document. Raises
        `InvalidSpecError`.
        """
        headers = {"Idempotency-Key": idempotency_key or f"import-{_digest(document)}"}
        return self._answer(SweepInfo, "POST", "/api/v1/sweeps/import", json=document, headers=headers)


def _sweep(sweep_id: int) -> str:
    return f"/api/v1/sweeps/{sweep_id}"


def _copy(chunks: Iterator[bytes], file: BinaryIO) -> None:
    for chunk in chunks:
        file.write(chunk)


def _digest(document: dict[str, Any]) -> str:
    """The hash by which the service recognizes the same study."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
