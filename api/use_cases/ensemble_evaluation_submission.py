"""Queues the evaluation of an ensemble version, on a split or on posted rows; the host runs it; api."""

from __future__ import annotations

import reprlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from podium.api.http.prediction_rows import check_rows, rows_of
from podium.api.http.service_context import ServiceContext
from podium.db.stores import ensemble_evaluations, ensemble_reader
from podium.db.stores.ensemble_reader import EnsembleRow, VersionRow
from podium.ensemble.values.ensemble_spec import POSTED, Split, Task
from podium.ensemble.values.ensemble_states import SERVING_STATES, MemberState
from podium.ensemble.values.selection_and_fitting_splits import used_splits
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.values.errors import ConflictError, EnsembleError, NotFoundError


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A requested evaluation. `inputs` and `targets` are given together, in place of `split`."""

    version: int | None = None  # None: the active version
    split: Split | None = None  # None: test, or the posted rows
    inputs: Any = None
    targets: Any = None
    force: bool = False  # allow a split that was used to choose or fit the version


def queue_evaluation(service: ServiceContext, ensemble_id: int, request: EvaluationRequest) -> int:
    """Returns the id of the evaluation.

    Raises `NotFoundError`; `ConflictError` if the version or one of its members is not ready; `EnsembleError` for
    invalid rows, or for a split that was used to make the version, unless forced.
    """
    with service.database.read() as connection:
        row = ensemble_reader.get(connection, ensemble_id)
    version = _active_version(row, request.version)
    _check_members_ready(version)
    split = POSTED if request.inputs is not None else (request.split or Split.TEST).value
    _check_held_out(version, split, forced=request.force)
    rows = None if request.inputs is None else _posted_rows(request, version)
    with service.database.write() as connection:
        evaluation_id = ensemble_evaluations.queue(
            connection, ensemble_id, version.number, split, forced=request.force, at=time.time()
        )  # fmt: skip
        if rows is not None:  # before the commit, so that the host finds them
            write_atomic(service.settings.data.posted_rows(evaluation_id), rows)
    service.wake("host")
    return evaluation_id


def _active_version(row: EnsembleRow, number: int | None) -> VersionRow:
    if row.state not in SERVING_STATES:
        reason = f" ({row.reason})" if row.reason else ""
        raise ConflictError(f"ensemble {row.id} is {row.state.value}{reason}; it must be ready to be evaluated")
    if number is None:
        return row.active
    if number not in row.versions:
        raise NotFoundError(f"ensemble {row.id} has no version {number}")
    if number not in (row.version, row.canary):
        raise ConflictError(f"version {number} of ensemble {row.id} is neither active nor the canary")
    return row.versions[number]


def _check_members_ready(version: VersionRow) -> None:
    """A degraded version answers predictions, but its scores would not be those of the version."""
    for member in version.members:
        if all(replica.state is not MemberState.READY for replica in member.replicas):
            replica = member.replicas[0]
            reason = f" ({replica.reason})" if replica.reason else ""
            raise ConflictError(f"an evaluation needs all members: {member.name} is {replica.state.value}{reason}")


def _check_held_out(version: VersionRow, split: str, *, forced: bool) -> None:
    for used, reason in used_splits(version.selection).items():
        if used.value == split and not forced:
            raise EnsembleError(
                f"split: {reason}, so scores on it are biased; evaluate on test, or set force to get flagged scores"
            )


def _posted_rows(request: EvaluationRequest, version: VersionRow) -> bytes:
    inputs, targets = rows_of(request.inputs), request.targets
    check_rows(inputs, version.features)
    assert targets is not None
    if not isinstance(targets, list) or len(targets) != len(inputs):
        raise EnsembleError(f"targets: must have one entry for each of the {len(inputs)} rows of inputs")
    regression = version.combination.task is Task.REGRESSION
    content: bytes = save(
        {"inputs": inputs, "targets": _target_values(targets, version) if regression else _classes(targets, version)}
    )
    return content


def _classes(targets: list[Any], version: VersionRow) -> NDArray[Any]:
    numbers = {name: number for number, name in enumerate(version.classes)}
    found = []
    for row, target in enumerate(targets):
        number = numbers.get(target) if isinstance(target, str) else target
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(version.classes):
            raise EnsembleError(
                f"targets: unknown class {reprlib.repr(target)} in row {row}; classes: {', '.join(version.classes)}"
            )
        found.append(number)
    return np.asarray(found, dtype=np.int64)


def _target_values(targets: list[Any], version: VersionRow) -> NDArray[Any]:
    values = rows_of([[t] if isinstance(t, int | float) else t for t in targets], "targets")
    if values.shape != (len(targets), len(version.classes)) or not np.isfinite(values).all():
        raise EnsembleError(f"targets: each row must have {len(version.classes)} finite values")
    return values
