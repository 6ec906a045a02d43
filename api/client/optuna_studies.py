"""Optuna studies of the client: the only module of `api` that uses Optuna; the user's process and the CLI.

Imported only where a study is used: loading Optuna takes a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from podium.sweep.studies import study_conversion
from podium.sweep.studies.study_conversion import Study

__all__ = ["Study", "in_memory", "read", "storage_argument", "write"]
MAX_SOURCE = 300
Json = Mapping[str, Any]


def in_memory(sweep: Json, trials: Iterable[Json]) -> Study:
    """A sweep and its trials, with curves, as a study."""
    return study_conversion.to_study(sweep, trials)


def write(sweep: Json, trials: Iterable[Json], storage: str, name: str) -> int:
    """See `podium.sweep.studies.optuna_storage_io.write_study`."""
    from podium.sweep.studies import optuna_storage_io

    return optuna_storage_io.write_study(sweep, trials, storage, name)


def storage_argument(storage: str) -> str:
    """The storage argument for optuna-dashboard, without a password."""
    from podium.sweep.studies import optuna_storage_io

    known = "://" in storage or storage.endswith(optuna_storage_io.JOURNAL)
    return optuna_storage_io.without_password(storage) if known else optuna_storage_io.sqlite_url(Path(storage))


def read(storage: str, study_name: str | None, name: str | None) -> tuple[dict[str, Any], list[str]]:
    """The body of an import request, and the omissions: what a sweep cannot represent. Raises `StudyError`."""
    from podium.sweep.studies import optuna_storage_io

    study = optuna_storage_io.read_study(storage, study_name)
    source = f"the Optuna study {study.study_name!r} in {optuna_storage_io.without_password(storage)}"
    document = study_conversion.to_document(study, name, source[:MAX_SOURCE])
    return document, study_conversion.omitted_parts(study)
