"""Builds the ensembles that sweeps request with an `ensemble:` block, once each; host process, background thread."""

from __future__ import annotations

import logging

from podium.db.schema.database import Database
from podium.db.stores import ensemble_reader, ensemble_writer, member_candidates, sweeps
from podium.ensemble.building.version_building import VersionBuilder
from podium.ensemble.values.ensemble_spec import EnsembleOptions
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.weights_removal_lock import hold_weights
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.errors import DatabaseError, PodiumError

log = logging.getLogger("podium.sweep_ensembles")


class SweepEnsembleBuilder:
    """Builds requested ensembles of finished sweeps; a failure is recorded at the sweep."""

    def __init__(self, database: Database, builder: VersionBuilder, data: DataDirectory, clock: Clock) -> None:
        self._database = database
        self._builder = builder
        self._data = data
        self._clock = clock

    def step(self) -> None:
        """Build all requested ensembles."""
        with self._database.read() as connection:
            requested = ensemble_reader.requested(connection)
        for sweep_id, spec in requested:
            options = spec_from_json(spec).ensemble
            if options is not None:
                self._build(sweep_id, options)

    def _build(self, sweep_id: int, options: EnsembleOptions) -> None:
        at = self._clock.wall_s()
        try:
            with hold_weights(self._data):
                self._create(sweep_id, options, at)
        except DatabaseError:
            raise  # not caused by the sweep; the next step retries
        except PodiumError as error:
            log.error("cannot build the ensemble of sweep %d: %s", sweep_id, error)
            self._record_error(sweep_id, str(error), at)
        except Exception as error:
            log.exception("cannot build the ensemble of sweep %d", sweep_id)
            self._record_error(sweep_id, f"{type(error).__name__}: {error}; see the host's log", at)

    def _create(self, sweep_id: int, options: EnsembleOptions, at: float) -> None:
        with self._database.read() as connection:
            trials = member_candidates.of_sweep(connection, sweep_id)
        version = self._builder.build(options, trials, allow_fewer=True)
        if version.selection["note"]:
            log.warning("ensemble of sweep %d: %s", sweep_id, version.selection["note"])
        with self._database.write() as connection:
            ensemble_writer.create(connection, options.name, sweep_id, version, at=at, requested=True)

    def _record_error(self, sweep_id: int, reason: str, at: float) -> None:
        with self._database.write() as connection:
            sweeps.set_ensemble_error(connection, sweep_id, reason, at)
