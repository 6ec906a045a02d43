"""Builds what finished sweeps asked for with an `ensemble:` block, once each; host process."""

from __future__ import annotations

import logging

from podium.db.schema.engine import Database
from podium.db.stores import candidates, ensemble_changes, ensembles, sweeps
from podium.ensemble.building.version_building import Builder
from podium.ensemble.values.ensemble_spec import EnsembleOptions
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.weights_lock import building
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.errors import DatabaseError, PodiumError

log = logging.getLogger("podium.requested")


class Requested:
    """Looks for sweeps that have ended without their ensemble; what cannot be built is said at the sweep."""

    def __init__(self, database: Database, builder: Builder, data: DataDirectory, clock: Clock) -> None:
        self._database = database
        self._builder = builder
        self._data = data
        self._clock = clock

    def step(self) -> None:
        """Build all that is asked for."""
        with self._database.read() as connection:
            asked = ensembles.requested(connection)
        for sweep_id, spec in asked:
            options = spec_from_json(spec).ensemble
            if options is not None:
                self._build(sweep_id, options)

    def _build(self, sweep_id: int, options: EnsembleOptions) -> None:
        at = self._clock.wall_s()
        try:
            with building(self._data):
                self._create(sweep_id, options, at)
        except DatabaseError:
            raise  # it says nothing of the sweep; the next step tries again
        except PodiumError as error:
            log.error("the ensemble of sweep %d cannot be built: %s", sweep_id, error)
            self._give_up(sweep_id, str(error), at)
        except Exception as error:
            log.exception("the ensemble of sweep %d cannot be built", sweep_id)
            self._give_up(sweep_id, f"{type(error).__name__}: {error}; the host's log has the rest", at)

    def _create(self, sweep_id: int, options: EnsembleOptions, at: float) -> None:
        with self._database.read() as connection:
            trials = candidates.of_sweep(connection, sweep_id)
        version = self._builder.build(options, trials, fewer=True)
        if version.selection["note"]:
            log.warning("the ensemble of sweep %d: %s", sweep_id, version.selection["note"])
        with self._database.write() as connection:
            ensemble_changes.create(connection, options.name, sweep_id, version, at, requested=True)

    def _give_up(self, sweep_id: int, reason: str, at: float) -> None:
        with self._database.write() as connection:
            sweeps.set_ensemble_error(connection, sweep_id, reason, at)
