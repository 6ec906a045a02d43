"""The interval of a population that a script trains, and its checkpoint, which is a folder; trial process.

A script is started for each interval. It continues from the folder `$PODIUM_RESUME` if that is set, trains up to the
step `$PODIUM_UNTIL_STEP`, writes a checkpoint into the folder `$PODIUM_CHECKPOINT`, and exits.
"""

from __future__ import annotations

from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Interval
from podium.sweep.values.errors import UserCodeError


class ScriptInterval:
    """What a script must know of its interval, and what remains of it when the script has exited."""

    def __init__(self, trial: Trial, interval: Interval) -> None:
        """Raises `UserCodeError` if the checkpoint that the interval starts from cannot be loaded."""
        self._trial = trial
        self._interval = interval
        self._folder = trial.directory.temporary / "checkpoint"
        self._folder.mkdir()
        self._until = trial.interval_end.end_of_script()
        self._start = trial.resume_interval_folder()

    @property
    def first_step(self) -> int:
        """The step of the first value that the script prints without a step."""
        return 1 + (self._interval.after_step or 0)

    def variables(self) -> dict[str, str]:
        """The environment variables of the script."""
        known = {"PODIUM_CHECKPOINT": str(self._folder)}
        if self._until is not None:
            known["PODIUM_UNTIL_STEP"] = str(self._until)
        if self._start is not None:
            known |= {"PODIUM_RESUME": str(self._start), "PODIUM_RESUME_STEP": str(self._interval.after_step or 0)}
        return known

    def end(self) -> None:
        """The script has exited with status 0. Raises `IntervalEnded`, unless it has ended before the last step.

        Raises `UserCodeError` if it has reached that step without a checkpoint.
        """
        if not self._trial.interval_end.is_reached or self._trial.interval_end.is_last:
            return
        if not any(self._folder.iterdir()):
            raise UserCodeError(
                f"the script reported step {self._until}, the last one of interval {self._interval.number}, and wrote "
                "nothing into the folder that $PODIUM_CHECKPOINT names"
            )
        self._trial.save_checkpoint_folder(self._folder, self._until or 0)
