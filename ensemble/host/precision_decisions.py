"""Decides the precisions of new members: measures them on calibration rows, and stores what is used; host process."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from podium.db.schema.database import Database
from podium.db.stores import ensemble_reader, ensemble_writer
from podium.db.stores.ensemble_reader import MemberRow, VersionRow
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.host.precision_measurement_runner import Measure
from podium.ensemble.values.ensemble_spec import Mode, Precision, Split
from podium.ensemble.values.precision_selection import MeasuredPrecision, choose
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest
from podium.sweep.runtime.service_settings import ServiceSettings, available_cores
from podium.sweep.values.errors import EnsembleError

ATTEMPTS = 3  # of a measurement whose process ends without a result
log = logging.getLogger("podium.precision")


class PrecisionDecisions:
    """Decides each member once, in the order of ensembles; the next host decides what this one did not.

    Args:
        settings: The service.
        database: Has the members.
        measure: Raises `EnsembleError` if there is no result.
        on_decided: Called after each decision.
    """

    def __init__(
        self, settings: ServiceSettings, database: Database, measure: Measure, on_decided: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._database = database
        self._measure = measure
        self._on_decided = on_decided
        self._failures: Counter[int] = Counter()  # by the id of the member

    def step(self) -> None:
        """Decide the members of all ensembles that should run."""
        with self._database.read() as connection:
            rows = ensemble_reader.wanted(connection)
        for row in rows:
            for version in row.kept:
                for member in version.members:
                    if member.precision is None:
                        self._decide(version, member)

    def _decide(self, version: VersionRow, member: MemberRow) -> None:
        try:
            decided = self._measured(version, member)
        except EnsembleError as error:
            self._failures[member.id] += 1
            log.warning("cannot measure the precision of %s: %s", member.name, error)
            if self._failures[member.id] < ATTEMPTS:
                return
            name = member.requested_precision.value
            decided = _float32(f"{name} could not be measured in {ATTEMPTS} attempts: {error}")
        log.info("%s: %s", member.name, decided.reason)
        with self._database.write() as connection:
            ensemble_writer.set_precision(connection, member.id, decided)
        self._on_decided()

    def _measured(self, version: VersionRow, member: MemberRow) -> MeasuredPrecision:
        """Raises `EnsembleError` if the measurement has no result, which another one may have."""
        wanted = member.requested_precision
        path = saved_trial_outputs.model_path(self._settings.data, member.files)
        try:
            if saved_trial_outputs.read_architecture(path, self._settings.data).data is None:
                return _float32(
                    f"the trial loaded its own data, so there are no calibration rows to measure {wanted.value} on; "
                    "set program.data in the sweep file"
                )
        except EnsembleError as error:
            return _float32(f"{wanted.value} could not be measured: {error}")
        request = MeasurementRequest(
            ModelFile(str(path), member.files.model_sha256 or "", 0, str(self._settings.data.root)),
            (Precision.FLOAT32, wanted),
            threads=worker_threads(version),
            split=Split.CALIBRATION.value,
        )
        found = self._measure(request)
        if found.problem:
            return _float32(f"{wanted.value} could not be measured: {found.problem}")
        base, other = found.figures
        precision, reason = choose(base, other, version.max_loss_increase)
        return MeasuredPrecision(precision, reason, found.rows, found.device, found.figures)


def worker_threads(version: VersionRow) -> int:
    """The number of threads of each worker of a version."""
    processes = sum(len(member.replicas) for member in version.members)
    if version.mode is Mode.IN_GRAPH:
        processes //= len(version.members)
    return max(1, available_cores() // processes)


def _float32(reason: str) -> MeasuredPrecision:
    return MeasuredPrecision(Precision.FLOAT32, f"float32: {reason}")
