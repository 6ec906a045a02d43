"""Removes weights, checkpoints and artifacts that sweeps do not keep. The cleanup thread of the scheduler process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from podium.db.schema.database import Database
from podium.db.stores import interval_checkpoint_retention, retention_plan, scheduler_lease
from podium.db.stores.retention_plan import RemovableFiles
from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.incremental_file_removal import finish, removal_steps
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.weights_removal_lock import try_lock_weights
from podium.sweep.spec.retention_keys import Keep
from podium.sweep.spec.sweep_spec import SweepSpec, spec_from_json
from podium.sweep.values.states import TERMINAL_SWEEP_STATES

BATCH = 20  # trials in one transaction of some 20 ms, during which the scheduler cannot write


_PLACES: dict[str, Callable[[AttemptDirectory], Path]] = {
    retention_plan.MODEL: lambda directory: directory.model,
    retention_plan.FILES: lambda directory: directory.artifacts,
}


@dataclass(frozen=True, slots=True)
class _Checked:
    """The state of a sweep's checkpoints: all but those of the best trials are removed."""

    event_id: int  # the last event that was considered
    best: tuple[int, ...]  # ids of trials


class Retention:
    """Applies the `keep` block of sweeps whose trials have ended. If it is killed, the next start continues."""

    def __init__(
        self, database: Database, data: DataDirectory, epoch: int, wall_s: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._data = data
        self._epoch = epoch  # lease of the scheduler: a later scheduler removes files itself
        self._wall_s = wall_s
        self._checked: dict[int, _Checked] = {}  # by sweep
        self._spec_of = lru_cache(maxsize=1000)(self._read_spec)

    def resume(self) -> list[int]:
        """Finish interrupted removals; the sweeps to which to apply retention."""
        with self._database.read() as connection:
            left = {files: retention_plan.marked_for_removal(connection, files=files) for files in _PLACES}
            sweep_ids = retention_plan.sweeps_with_retention(connection)
            sweep_ids += set(interval_checkpoint_retention.sweeps_with_checkpoints(connection)) - set(sweep_ids)
        for files in _PLACES:
            self._remove(left[files], files)
        return sweep_ids

    def apply(self, sweep_id: int) -> bool:
        """Remove the files that a sweep does not keep; False if an ensemble is being built: call it again."""
        spec = self._spec_of(sweep_id)
        keep = spec.keep
        is_over = spec.population is None or self._remove_checkpoints_of_intervals(sweep_id, keep)
        if keep.checkpoints == "best" and is_over:
            self._keep_best_checkpoint(sweep_id)
        if keep.artifacts is not None:
            reason = f"its artifacts were not kept: keep.artifacts is {keep.artifacts}"
            self._mark_removed(sweep_id, keep.artifacts, reason, retention_plan.FILES)
            self._remove_marked(sweep_id, retention_plan.FILES)
        return keep.models is None or self._keep_best_models(sweep_id, keep.models)

    def _read_spec(self, sweep_id: int) -> SweepSpec:
        with self._database.read() as connection:
            return spec_from_json(retention_plan.spec_of(connection, sweep_id))

    # Checkpoints of populations.

    def _remove_checkpoints_of_intervals(self, sweep_id: int, keep: Keep) -> bool:
        """Remove the checkpoints that no trial of a population needs; False while its trials may need others'."""
        with self._database.write(durable=False) as connection:
            scheduler_lease.check(connection, self._epoch)
            interval_checkpoint_retention.mark(connection, sweep_id, keeps=keep.checkpoints != "none")
        with self._database.read() as connection:
            state = retention_plan.state_of(connection, sweep_id)
            marked = interval_checkpoint_retention.marked(connection, sweep_id)
        fail_point("retention.before-removal")
        folders = [AttemptDirectory(self._data.trials / key) for each in marked for key in each.checkpoints]
        old = [AttemptDirectory(self._data.trials / key) for each in marked for key in each.models]
        paths = [path for each in folders for path in (each.checkpoint, each.checkpoint_folders)]
        paths += [path for each in old for path in (each.model, each.predictions)]
        finish(removal_steps(paths))
        object_store_fetch_client.remove(self._data, paths)
        if marked:
            with self._database.write(durable=False) as connection:
                scheduler_lease.check(connection, self._epoch)
                interval_checkpoint_retention.mark_gone(connection, marked)
        return state in TERMINAL_SWEEP_STATES

    # Weights, and files that trials saved.

    def _keep_best_models(self, sweep_id: int, models: int) -> bool:
        with try_lock_weights(self._data) as free:
            if free:
                self._mark_removed(
                    sweep_id, models, f"its weights were not kept: keep.models is {models}", retention_plan.MODEL
                )
        self._remove_marked(sweep_id, retention_plan.MODEL)
        return free

    def _mark_removed(self, sweep_id: int, count: int, reason: str, files: str) -> None:
        with self._database.read() as connection:
            surplus = retention_plan.surplus(connection, sweep_id, count, files)
        for start in range(0, len(surplus), BATCH):
            with self._database.write() as connection:
                scheduler_lease.check(connection, self._epoch)
                retention_plan.mark_for_removal(
                    connection, surplus[start : start + BATCH], reason=reason, at=self._wall_s(), files=files
                )

    def _remove_marked(self, sweep_id: int, files: str) -> None:
        with self._database.read() as connection:
            left = retention_plan.marked_for_removal(connection, sweep_id, files)
        self._remove(left, files)

    def _remove(self, left: list[RemovableFiles], files: str) -> None:
        if not left:
            return
        place, directories = _PLACES[files], self._attempts(left)
        fail_point("retention.before-removal")
        paths = [place(directory) for each in left for directory in directories[each.trial_id]]
        finish(removal_steps(paths))
        object_store_fetch_client.remove(self._data, paths)
        done = [
            each for each in left if not any(_is_there(place(directory)) for directory in directories[each.trial_id])
        ]
        fail_point("retention.after-removal")
        if done:
            with self._database.write(durable=False) as connection:
                scheduler_lease.check(connection, self._epoch)
                retention_plan.mark_removed(connection, done, files)

    # Checkpoints.

    def _keep_best_checkpoint(self, sweep_id: int) -> None:
        """Only the best of those not removed yet need a comparison: a trial that was beaten never becomes the best."""
        seen = self._checked.get(sweep_id)
        with self._database.read() as connection:
            last = retention_plan.last_event(connection)
            new = [] if seen is None else retention_plan.finished_since(connection, sweep_id, seen.event_id)
            if seen is not None and not new:
                return
            ranks = retention_plan.finished(connection, sweep_id, None if seen is None else {*seen.best, *new})
        others = [each for rank in ranks[1:] for each in rank]
        directories = [directory for attempts in self._attempts(others).values() for directory in attempts]
        paths = [path for each in directories for path in (each.checkpoint, each.checkpoint_folders)]
        finish(removal_steps(paths))
        object_store_fetch_client.remove(self._data, paths)
        self._checked[sweep_id] = _Checked(last, tuple(each.trial_id for rank in ranks[:1] for each in rank))

    def _attempts(self, left: list[RemovableFiles]) -> dict[int, list[AttemptDirectory]]:
        """The folders of the attempts with files to remove, by trial."""
        with self._database.read() as connection:
            found = retention_plan.folders_of(connection, left)
        return {
            trial_id: [AttemptDirectory(self._data.trials / folder) for folder in folders]
            for trial_id, folders in found.items()
        }


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)
