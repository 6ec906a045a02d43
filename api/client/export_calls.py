"""Sweeps out of a service and studies into it, as methods of the Python client; cli, notebooks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args
from urllib.parse import quote

from podium.api.client.connection import Connection
from podium.sweep.runtime.atomic_files import appearing
from podium.sweep.values.errors import PodiumError

TableFormat = Literal["csv", "parquet", "jsonl"]


class ExportCalls(Connection):
    """What notebooks, spreadsheets and other tools read."""

    def export(
        self, sweep_id: int, path: Path | str, table: TableFormat | None = None, filter: str | None = None
    ) -> Path:
        """Write a sweep's trials to a file as CSV, Parquet or JSON lines, which its suffix says if `table` does not.

        All, or those that a filter finds. The file appears whole.
        Raises `NotFoundError`, and `PodiumError` where the service lacks pyarrow for Parquet.
        """
        target = Path(path)
        suffix = table or target.suffix.removeprefix(".")
        if suffix not in get_args(TableFormat):
            raise PodiumError(f"{target} does not end in .csv, .parquet or .jsonl; say which with table=")
        path = f"{_sweep(sweep_id)}/export.{suffix}"
        with (
            self._stream(path, params={} if filter is None else {"filter": filter}) as response,
            appearing(target) as file,
        ):
            _copy(response.iter_bytes(), file)
        return target

    def exported_trials(
        self, sweep_id: int, *, curves: bool = True, filter: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Every trial, or those that a filter finds, with all that is known of it; `metrics` only with `curves`."""
        params = {"curves": str(curves).lower()} | ({} if filter is None else {"filter": filter})
        with self._stream(f"{_sweep(sweep_id)}/export.jsonl", params=params) as response:
            for line in response.iter_lines():
                yield json.loads(line)

    def download(self, trial_id: int, name: str, path: Path | str) -> Path:
        """Write a file that a trial left, `model.safetensors` or `artifacts/plot.png` say, to `path`; it appears whole.

        Raises `NotFoundError`.
        """
        target = Path(path)
        with (
            self._stream(f"/api/v1/trials/{trial_id}/files/{quote(name)}") as response,
            appearing(target) as file,
        ):
            _copy(response.iter_bytes(), file)
        return target

    def count_trials(self, sweep_id: int, filter: str | None = None) -> int:
        """How many trials a sweep has, or how many of them a filter finds."""
        params: dict[str, Any] = {"limit": 1} | ({} if filter is None else {"filter": filter})
        count: int = self._object("GET", f"{_sweep(sweep_id)}/table", params=params)["matching"]
        return count

    def import_sweep(self, document: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Keep a study as a finished sweep. The same one is taken once, however often it is sent.

        `podium.sweep.studies.study_conversion.document_of` makes the document of an Optuna study. Raises
        `InvalidSpecError`.
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
