"""Reads studies from Optuna storages without writing to them, and writes studies in bulk; CLI.

Optuna adds a trial in many statements of about 15 ms each on SQLite; here all rows of a study are one transaction.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import optuna
from optuna.distributions import distribution_to_json
from optuna.exceptions import DuplicatedStudyError, OptunaError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import BaseJournalBackend, JournalFileBackend
from optuna.trial import FrozenTrial
from sqlalchemy import Connection, Table, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from podium.sweep.search.optuna_private import stored_intermediate_value, stored_value, study_id, trial_tables
from podium.sweep.studies import study_conversion
from podium.sweep.values.errors import StudyError

optuna.logging.set_verbosity(optuna.logging.WARNING)

JOURNAL = (".journal", ".log")
_SQLITE_FILE = b"SQLite format 3\0"
_JOURNAL_LINE = b'{"op_code":'
_LONGEST_LINE = 64
_ROWS_A_STATEMENT = 5_000


# Reading.


def read_study(storage: str, name: str | None = None) -> optuna.Study:
    """A study in a storage: a database URL, an SQLite file, or a journal file. Nothing is written.

    Without a name, the only study. Raises `StudyError`.
    """
    with _explain_errors(without_password(storage)):
        opened = _open(storage)
        names = optuna.get_all_study_names(opened)
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            there = ", ".join(map(repr, names)) or "none"
            raise StudyError(f"{_missing(name)}; studies in {without_password(storage)}: {there}")
        return optuna.load_study(study_name=name, storage=opened)


def _missing(name: str | None) -> str:
    return "select a study with --study" if name is None else f"unknown study {name!r}"


def _open(storage: str) -> BaseStorage:
    if not _is_url(storage):
        return _opened_file(Path(storage))
    url = make_url(storage)
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        return _opened_file(Path(url.database))
    return RDBStorage(storage, skip_table_creation=True)


def _opened_file(path: Path) -> BaseStorage:
    try:
        with path.open("rb") as file:
            begins = file.readline(_LONGEST_LINE)
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from error
    if not begins.startswith(_SQLITE_FILE):
        if not begins.startswith(_JOURNAL_LINE):
            raise StudyError(f"{path} is not an Optuna storage: neither an SQLite database nor a journal")
        return JournalStorage(JournalFileBackend(str(path)))
    as_uri = f"file:{quote(str(path.absolute()))}"
    url = URL.create("sqlite", database=as_uri, query={"mode": "ro", "uri": "true"})
    return RDBStorage(url.render_as_string(), skip_table_creation=True)


def sqlite_url(path: Path) -> str:
    """The storage URL of a file, with its path quoted."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def without_password(storage: str) -> str:
    """The storage URL with its password hidden."""
    return make_url(storage).render_as_string(hide_password=True) if _is_url(storage) else storage


def _is_url(storage: str) -> bool:
    return "://" in storage


@contextlib.contextmanager
def _explain_errors(storage: str) -> Iterator[None]:
    """Converts exceptions of Optuna, SQLAlchemy and drivers to `StudyError`."""
    try:
        yield
    except DuplicatedStudyError as error:
        raise StudyError(f"{storage} already has a study of this name; choose another with --study") from error
    except (OptunaError, SQLAlchemyError, ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise StudyError(f"cannot use {storage} as an Optuna storage: {said[0]}") from error


# Writing.


def write_study(sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]], storage: str, name: str) -> int:
    """Write a sweep as a new study; returns its number of trials. Raises `StudyError`.

    `storage` is a database URL, or a file: a journal if it ends in .journal or .log, else SQLite. It may already have
    other studies.
    """
    with _explain_errors(without_password(storage)):
        frozen = study_conversion.frozen_trials(sweep, trials)
        if _is_url(storage):
            _write_rows(RDBStorage(storage), sweep, frozen, name)
        elif storage.endswith(JOURNAL):
            _write_journal(Path(storage), sweep, frozen, name)
        else:
            _write_rows(RDBStorage(sqlite_url(Path(storage))), sweep, frozen, name)
        return len(frozen)


def _create(storage: BaseStorage, sweep: Mapping[str, Any], name: str) -> optuna.Study:
    study = optuna.create_study(study_name=name, storage=storage, directions=study_conversion.directions(sweep))
    study_conversion.name_metrics(study, sweep)
    study_conversion.add_details(study, sweep)
    return study


class _BufferedBackend(BaseJournalBackend):
    """A journal that buffers new entries until `flush` writes all of them."""

    def __init__(self, behind: BaseJournalBackend) -> None:
        self._logs = list(behind.read_logs(0))
        self._behind = behind
        self._known = len(self._logs)

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        yield from self._logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self._logs += logs

    def flush(self) -> None:
        self._behind.append_logs(self._logs[self._known :])


def _write_journal(path: Path, sweep: Mapping[str, Any], trials: Sequence[FrozenTrial], name: str) -> None:
    gathered = _BufferedBackend(JournalFileBackend(str(path)))
    storage = JournalStorage(gathered)
    study = _create(storage, sweep, name)
    for trial in trials:
        storage.create_new_trial(study_id(study), trial)
    gathered.flush()


def _write_rows(storage: RDBStorage, sweep: Mapping[str, Any], trials: Sequence[FrozenTrial], name: str) -> None:
    study = _create(storage, sweep, name)
    try:
        with storage.engine.begin() as connection:
            _insert_trials(connection, study_id(study), trials)
    except BaseException:
        storage.delete_study(study_id(study))
        raise
    finally:
        storage.engine.dispose()


def _insert_trials(connection: Connection, in_study: int, trials: Sequence[FrozenTrial]) -> None:
    """Insert trials into the study with the id `in_study`."""
    table = trial_tables().trials
    _insert(connection, table, [_trial_row(in_study, trial) for trial in trials])
    known = connection.execute(select(table.c.number, table.c.trial_id).where(table.c.study_id == in_study))
    ids = {row.number: row.trial_id for row in known}
    for other, rows in _rows_of(trials, ids).items():
        _insert(connection, other, rows)


def _rows_of(trials: Sequence[FrozenTrial], ids: Mapping[int, int]) -> dict[Table, list[dict[str, Any]]]:
    """The rows that belong to the trials, by table."""
    tables = trial_tables()
    of_all = [(ids[trial.number], trial) for trial in trials]
    return {
        tables.params: [_param_row(i, t, name) for i, t in of_all for name in t.params],
        tables.values: [
            {"trial_id": i, "objective": index, **stored_value(value)}
            for i, t in of_all
            for index, value in enumerate(t.values or ())
        ],
        tables.intermediate_values: [
            {"trial_id": i, "step": step, **stored_intermediate_value(value)}
            for i, t in of_all
            for step, value in t.intermediate_values.items()
        ],
        tables.user_attributes: [
            {"trial_id": i, "key": key, "value_json": json.dumps(value)}
            for i, t in of_all
            for key, value in t.user_attrs.items()
        ],
        tables.system_attributes: [
            {"trial_id": i, "key": key, "value_json": json.dumps(value)}
            for i, t in of_all
            for key, value in t.system_attrs.items()
        ],
    }


def _trial_row(in_study: int, trial: FrozenTrial) -> dict[str, Any]:
    return {
        "study_id": in_study,
        "number": trial.number,
        "state": trial.state,
        "datetime_start": _utc(trial.datetime_start),
        "datetime_complete": _utc(trial.datetime_complete),
    }


def _param_row(trial_id: int, trial: FrozenTrial, name: str) -> dict[str, Any]:
    distribution = trial.distributions[name]
    return {
        "trial_id": trial_id,
        "param_name": name,
        "param_value": distribution.to_internal_repr(trial.params[name]),
        "distribution_json": distribution_to_json(distribution),
    }


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    for first in range(0, len(rows), _ROWS_A_STATEMENT):
        connection.execute(table.insert(), rows[first : first + _ROWS_A_STATEMENT])


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None)
