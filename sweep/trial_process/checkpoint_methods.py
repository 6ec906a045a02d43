"""The checkpoints that `trial.` offers: saved, and loaded by the next attempt; trial process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.sweep.protocol.trial_messages import AttrsReported
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import directory_checkpoints
from podium.sweep.trial_process.directory_checkpoints import CheckpointFolder
from podium.sweep.trial_process.interval_end import IntervalEnd
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.stop_condition_check import EarlyFinish
from podium.sweep.values.attempt_assignment import Assignment, Params
from podium.sweep.values.constraints_and_user_attributes import TrialAttributes
from podium.sweep.values.errors import UserCodeError

if TYPE_CHECKING:
    import torch

    from podium.sweep.trial_process.trial_checkpoints import Checkpoint


class CheckpointMethods:
    """The part of `Trial` for checkpoints."""

    _assignment: Assignment
    _attrs: TrialAttributes
    _channel: Channel
    directory: AttemptDirectory
    early_finish: EarlyFinish
    interval_end: IntervalEnd

    def save_checkpoint(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        epoch: int = 0,
        extra: Any = None,
    ) -> None:
        """Save a checkpoint of the training atomically; replaces the previous one.

        When this attempt is lost, the next attempt of the trial loads it with `resume()`. A checkpoint has the weights,
        the state of the optimizer, and the states of Python's, numpy's and torch's random number generators. `extra`
        may have tensors, arrays, numbers, strings, and lists, tuples and dicts of them; nothing is pickled. Checkpoints
        are removed when the trial has finished, unless the sweep file sets `keep.checkpoints`. Report before you save:
        the reports, constraints and user attributes so far are part of the checkpoint, and count in the attempt that
        continues from it.

        In a population (`method: {type: pbt, …}`), the attempt ends here if the last step of its interval was reported:
        see `ends_interval`.
        """
        self._check_saves("save_checkpoint")
        from podium.sweep.trial_process import trial_checkpoints  # torch: only in this process

        trial_checkpoints.save(
            self.directory.checkpoint,
            model,
            optimizer=optimizer,
            epoch=epoch,
            extra=extra,
            owner=self._identity(),
            progress=self._progress(),
        )
        self.interval_end.saved(int(epoch))

    def ends_interval(self, step: int) -> bool:
        """Whether the report of `step` ends an interval of a population, so that a checkpoint of it must be saved.

        Always False unless the sweep file has `method: {type: pbt, …}`.
        """
        return self.interval_end.ends_at(int(step))

    def resume(self) -> Checkpoint | None:
        """The newest checkpoint of an earlier attempt of this trial; None if there is none.

        If it is of the last epoch, nothing is left to train: return nothing, so that the reports before it count, or
        compute the value after the loop.

        In a population (`method: {type: pbt, …}`), it may be the checkpoint of another trial, and the parameters
        of this trial may have changed: then `load_into` keeps the hyperparameters of the given optimizer.

        checkpoint = trial.resume()
        if checkpoint is not None:
            checkpoint.load_into(model, optimizer)
            start = checkpoint.epoch + 1
        """
        from podium.sweep.trial_process import trial_checkpoints  # torch: only in this process

        own = trial_checkpoints.newest(self.directory, self._assignment.attempt, self._identity(), self._first_attempt)
        start = self.interval_end.resume(self.directory)
        if own is not None:
            self._restore_progress(own.progress)
        return trial_checkpoints.of_interval(start, self._planned()) if own is None and start is not None else own

    def save_checkpoint_folder(
        self, source: Path, iteration: int, report: tuple[int, Mapping[str, float]] | None = None
    ) -> CheckpointFolder:
        """Save a copy of a folder as the checkpoint of this attempt, as `tune.report(…, checkpoint=…)` does.

        `report`: the step and the metrics that are reported next, if the checkpoint is of these.
        """
        self._check_saves("save_checkpoint_folder")
        saved = directory_checkpoints.save(
            source, self.directory, iteration, owner=self._identity(), progress=self._progress(report)
        )
        self.interval_end.saved(of_next_report=True)
        return saved

    def resume_folder(self) -> CheckpointFolder | None:
        """The newest checkpoint folder of an earlier attempt of this trial; None if there is none."""
        own = directory_checkpoints.newest(
            self.directory, self._assignment.attempt, self._identity(), self._first_attempt
        )
        start = self.interval_end.resume(self.directory)
        if own is not None:
            self._restore_progress(own.progress)
        return directory_checkpoints.of_interval(start) if own is None and start is not None else own

    def resume_interval_folder(self) -> Path | None:
        """The checkpoint that an interval starts from, as a folder; None in the first interval.

        A repeated attempt starts from it again: a script ends its interval with its only checkpoint.
        """
        start = self.interval_end.resume(self.directory)
        return None if start is None else directory_checkpoints.of_interval(start).path

    def _progress(self, report: tuple[int, Mapping[str, float]] | None = None) -> dict[str, Any]:
        """What the attempt that continues from a checkpoint has from the start. `report`: that which follows."""
        reports = self.early_finish.state(report)
        attrs = {"constraints": dict(self._attrs.constraints), "user_attrs": dict(self._attrs.user_attrs)}
        return {"reports": reports, **attrs}

    def _restore_progress(self, progress: Mapping[str, Any] | None) -> None:
        """The program continues from a checkpoint; what this attempt has set already takes precedence."""
        if progress is None:
            return
        self.early_finish.restore(progress["reports"])
        if self._assignment.rank > 0:
            return
        constraints = {**progress["constraints"], **self._attrs.constraints}
        user_attrs = {**progress["user_attrs"], **self._attrs.user_attrs}
        for name, value in constraints.items():
            self._attrs.set_constraint(name, value)
        for key, value in user_attrs.items():
            self._attrs.set_user_attr(key, value)
        if constraints or user_attrs:
            self._channel.send(AttrsReported(constraints=constraints, user_attrs=user_attrs))

    def _check_saves(self, method: str) -> None:
        """Raises `UserCodeError` in a rank above 0, whose file would replace that of rank 0."""
        if self._assignment.rank > 0:
            raise UserCodeError(
                f"rank {self._assignment.rank} called trial.{method}; only rank 0 may: write `if trial.rank == 0:`"
            )

    @property
    def _first_attempt(self) -> int:
        """The first attempt that may have a checkpoint to continue from."""
        return 1 if self._assignment.interval is None else self._assignment.interval.first_attempt

    def _identity(self) -> str:
        """Distinguishes this trial from one of the same number before a backup of the database was restored."""
        mine = self._assignment
        return json.dumps([mine.sweep_id, mine.trial_id, mine.seed, self._planned()], sort_keys=True)

    def _planned(self) -> Params:
        """The parameters that the trial did not suggest itself."""
        mine = self._assignment
        return {name: value for name, value in mine.params.items() if name not in mine.defined}
