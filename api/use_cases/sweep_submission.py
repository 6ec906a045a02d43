"""Submits a sweep as a document or as the text of a sweep file, previews a sweep file, and imports a study; api.

Every way to submit a sweep that runs has the same checks, once: `check_sweep`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.api.http.service_context import ServiceContext
from podium.api.use_cases.sweep_prerequisite_checks import CheckedSweep, check_sweep
from podium.db.stores import devices, imported_sweep_writer, installed_packages, sweep_predecessors, sweeps, warm_starts
from podium.sweep.lifecycle.imported_sweep import parse_import
from podium.sweep.runtime.package_versions import environment, versions
from podium.sweep.runtime.submission_provenance import Provenance
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.specfile.data_header_check import check_data
from podium.sweep.specfile.random_configurations import sample_configurations
from podium.sweep.specfile.spec_lint import search_hints
from podium.sweep.specfile.sweep_text_check import PlacedProblem, SweepText, read_sweep_text
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.device import slots_per_device
from podium.sweep.values.device_state import USABLE_DEVICE_STATES
from podium.sweep.values.errors import InvalidSpecError, Problem

SAMPLES = 3  # random configurations in a preview


@dataclass(frozen=True, slots=True)
class Submission:
    """A sweep as submitted by a client."""

    owner: str  # name of the token
    idempotency_key: str | None = None  # the same key with the same sweep submits it once
    provenance: Provenance | None = None
    file_text: str | None = None  # the sweep file as the client wrote it


@dataclass(frozen=True, slots=True)
class Submitted:
    """An accepted sweep; `is_new` is false if its idempotency key was used before."""

    sweep_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class DevicePreview:
    """On how many of the service's devices a sweep could run now."""

    count: int
    usable: int
    at_once: int
    kinds: list[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a valid sweep file."""

    spec: SweepSpec
    code: str | None
    data: str | None
    devices: DevicePreview
    notes: list[str]
    samples: list[Params]


@dataclass(frozen=True, slots=True)
class SweepFilePreview:
    """A sweep file as read; `plan` is None if there are problems."""

    read: SweepText
    problems: Sequence[PlacedProblem]
    plan: Plan | None


def submit_document(service: ServiceContext, document: dict[str, Any], submission: Submission) -> Submitted:
    """Check and store a sweep. Raises `InvalidSpecError`, and `ConflictError` for a key used with another sweep."""
    checked = check_sweep(service, parse_spec(document), submission.idempotency_key)
    return _accept(service, checked, submission)


def submit_text(service: ServiceContext, text: str, owner: str, idempotency_key: str | None) -> Submitted:
    """Check and store a sweep file. Raises as `submit_document` does; problems have the lines of the text."""
    read = read_sweep_text(text)
    if read.spec is None:
        raise _with_lines(read.problems)
    try:
        checked = check_sweep(service, read.spec, idempotency_key)
        return _accept(service, checked, Submission(owner, idempotency_key, file_text=text))
    except InvalidSpecError as error:
        raise _with_lines(read.placed(error.problems)) from None


def preview_text(service: ServiceContext, text: str) -> SweepFilePreview:
    """Check a sweep file and describe what it would run. Problems are part of the result."""
    read = read_sweep_text(text)
    if read.spec is None:
        return SweepFilePreview(read, read.problems, None)
    try:
        return SweepFilePreview(read, read.problems, _plan(service, check_sweep(service, read.spec)))
    except InvalidSpecError as error:
        return SweepFilePreview(read, read.placed(error.problems), None)


def import_study(service: ServiceContext, content: bytes, owner: str, idempotency_key: str | None) -> Submitted:
    """Store the trials of a study that ran elsewhere as a finished sweep. Raises `InvalidSpecError`."""
    at = time.time()
    prepared = imported_sweep_writer.prepare(parse_import(content), at)
    with service.database.write() as connection:
        return Submitted(*imported_sweep_writer.accept(connection, prepared, at, idempotency_key, owner=owner))


def unreadable(read: SweepText) -> InvalidSpecError:
    """The problems of a text that is not a document."""
    return _with_lines(read.problems)


def _accept(service: ServiceContext, checked: CheckedSweep, submission: Submission) -> Submitted:
    spec, provenance = checked.spec, submission.provenance
    installed = environment()
    with service.database.read() as connection:
        # The trials of a predecessor are known when it has finished; see `predecessors.release`.
        warm_start = None if spec.after else warm_starts.select_for(connection, spec)
    at = time.time()
    with service.database.write() as connection:
        installed_packages.add(connection, installed.sha256, installed.packages, at)
        sweep_id, is_new = sweeps.accept(
            connection,
            spec,
            at,
            submission.idempotency_key,
            versions=versions(),
            file=submission.file_text,
            environment=installed.sha256,
            provenance=None if provenance is None else provenance.model_dump_json(),
            owner=submission.owner,
        )
        if is_new:
            sweep_predecessors.add(connection, sweep_id, spec)
        if is_new and warm_start is not None:
            warm_starts.add(connection, sweep_id, warm_start)
    service.wake("scheduler")
    return Submitted(sweep_id, is_new)


def _plan(service: ServiceContext, checked: CheckedSweep) -> Plan:
    spec, data = checked.spec, check_data(checked.spec)
    return Plan(
        spec=spec,
        code=checked.code,
        data=None if data is None else str(data),
        devices=_devices(service, spec),
        notes=list(search_hints(spec)),
        samples=sample_configurations(spec, SAMPLES) if spec.parameters else [],
    )


def _devices(service: ServiceContext, spec: SweepSpec) -> DevicePreview:
    with service.database.read() as connection:
        rows, drained = devices.all_of(connection), devices.drained(connection)
    usable = [device for device in rows if device.state in USABLE_DEVICE_STATES and device.id not in drained]
    limit = spec.resources.max_concurrent
    each = spec.resources.slots(slots_per_device(device.id for device in rows))
    matching = sum(spec.resources.fits(device.kind, device.id) for device in usable) // each
    return DevicePreview(
        count=len(rows),
        usable=len(usable),
        at_once=min(matching, limit or matching, spec.run_cap),
        kinds=sorted({device.kind for device in rows}),
    )


def _with_lines(problems: Sequence[PlacedProblem]) -> InvalidSpecError:
    return InvalidSpecError([Problem(p.path, p.message, p.line) for p in problems])
