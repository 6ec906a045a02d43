"""Ends an attempt at the end of its interval of training, with a checkpoint; trial process.

In a sweep of `method: {type: pbt, …}`, each attempt trains one interval. It ends when the trial has reported the last
step of the interval and has saved a checkpoint of that step. The scheduler is not asked: an interval also ends while no
scheduler runs.

A checkpoint is of the step that was reported before it. One that is saved just before the report of the last step may
be of that step or of the one before, which would lose a step. It counts if the program has asked `ends_interval` for
the step before, or if it saves each checkpoint before the report and names the step as its epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Interval
from podium.sweep.values.attempt_outcomes import ReportedOutcome
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.states import TrialState


class IntervalEnded(BaseException):
    """Raised by `report` or `save_checkpoint` at the end of an interval; `except Exception` does not catch it."""


class IntervalEnd:
    """Follows the reports and checkpoints of an attempt, and decides when its interval ends.

    Args:
        interval: None if the attempt trains until the program ends; then nothing has an effect. Does not change.
        finish: Ends the trial as finished, for a reason; called at the end of its last interval.
    """

    def __init__(self, interval: Interval | None, finish: Callable[[str], None]) -> None:
        self.interval = interval
        self._finish = finish
        self._end: int | None = None  # the step of the report that ends the interval
        self._asked: int | None = None  # the step for which the program asked whether it ends the interval
        self._of_next_report = False  # a checkpoint saved since the last report is of the next one, whatever its step
        self._epoch: int | None = None  # of a checkpoint that was saved since the last report
        self._saves_first: bool | None = None  # whether the first checkpoint came before the first report
        self._resumed = False
        self._of_script = False
        self._reached: tuple[int, float] | None = None  # step and value at the end of the interval
        self.ended = False  # `IntervalEnded` was raised: the outcome of the attempt is `outcome`

    @property
    def exists(self) -> bool:
        """Whether the trial trains in intervals."""
        return self.interval is not None

    @property
    def is_reached(self) -> bool:
        """Whether the last step of the interval was reported, and only its checkpoint is missing."""
        return self._reached is not None

    @property
    def is_last(self) -> bool:
        """Whether the trial finishes at the end of the interval."""
        return self.interval is not None and self.interval.is_last

    def resume(self, directory: AttemptDirectory) -> AttemptDirectory | None:
        """The program asks for its checkpoint: the folder of that which the interval starts from, if there is one.

        `directory`: of this attempt, which has a copy on a node.
        """
        self._resumed = True
        if self.interval is None or self.interval.checkpoint is None:
            return None
        return directory.start if directory.start.root.exists() else AttemptDirectory(Path(self.interval.checkpoint))

    def end_of_script(self) -> int | None:
        """The last step of the interval, for a script, whose steps count from 1; None: until the script ends."""
        self._of_script = True
        self._end = self._end_from(1)
        return self._end

    def ends_at(self, step: int) -> bool:
        """Whether the report of this step ends the interval, so that its checkpoint must be saved."""
        end = self._end_from(step)
        ends = end is not None and step >= end
        self._asked = step if ends else None
        return ends

    def before(self, step: int) -> None:
        """To be called before a report. Raises `UserCodeError` if the program does not support intervals."""
        interval = self.interval
        if interval is None:
            return
        if self._of_script:
            self._check_step_of_script(interval, step)
        if interval.checkpoint is not None and not self._resumed:
            raise UserCodeError(
                f"reported step {step} in interval {interval.number} without having loaded its checkpoint: the program "
                "of a population must call trial.resume() and continue from the checkpoint"
            )
        if self._reached is not None and step > self._reached[0]:
            raise UserCodeError(
                f"interval {interval.number} ended at step {self._reached[0]}, and no checkpoint of it was saved; "
                "call trial.save_checkpoint after each report, or after those for which trial.ends_interval(step) holds"
            )

    def _check_step_of_script(self, interval: Interval, step: int) -> None:
        if interval.after_step is not None and step <= interval.after_step:
            raise UserCodeError(
                f"the script reported step {step} in interval {interval.number}, which starts after step "
                f"{interval.after_step}: it must continue from the checkpoint in $PODIUM_RESUME, after the step "
                "$PODIUM_RESUME_STEP"
            )
        if self._end is not None and step > self._end:
            raise UserCodeError(
                f"the script reported step {step} in interval {interval.number}, which ends at step {self._end}: after "
                "the step $PODIUM_UNTIL_STEP it must write its checkpoint into $PODIUM_CHECKPOINT and exit"
            )

    def record(self, step: int, value: float) -> None:
        """To be called after a report of the metric. Raises `IntervalEnded` if it ends the interval."""
        if self.interval is None:
            return
        self._end = self._end_from(step)
        if self._saves_first is None:
            self._saves_first = False
        is_saved = self._of_next_report or (self._saves_first and self._epoch == step)
        self._of_next_report, self._epoch, self._asked = False, None, None
        if self._reached is None and self._end is not None and step >= self._end:
            self._reached = (step, value)
            if self.is_last:
                self._finish(f"interval {self.interval.number} ended, and the sweep ends")
            elif is_saved:
                self._raise()

    def saved(self, epoch: int | None = None, *, of_next_report: bool = False) -> None:
        """To be called after a checkpoint was saved. Raises `IntervalEnded` if the interval has reached its end.

        `of_next_report`: it is certainly of the step that is reported next.
        """
        if self._saves_first is None:
            self._saves_first = True
        self._of_next_report = of_next_report or self._asked is not None
        self._epoch = epoch
        if self._reached is not None and not self.is_last:
            self._raise()

    def outcome(self) -> ReportedOutcome:
        """The outcome of the attempt after `IntervalEnded`."""
        assert self.interval is not None and self._reached is not None
        step, value = self._reached
        message = f"interval {self.interval.number} ended at step {step}"
        return ReportedOutcome(TrialState.WAITING, value=value, message=message, step=step)

    def _end_from(self, step: int) -> int | None:
        if self.interval is None or self._end is not None:
            return self._end
        return self.interval.end_after(step)

    def _raise(self) -> None:
        self.ended = True
        assert self.interval is not None
        raise IntervalEnded(f"interval {self.interval.number} ended")
