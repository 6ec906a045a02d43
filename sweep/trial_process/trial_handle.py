"""The `trial` object that user code gets; trial process."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.sweep.protocol.message_limits import MAX_STEP
from podium.sweep.protocol.slot_commands import PruneAnswer
from podium.sweep.protocol.trial_messages import AttrsReported
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.trial_process import artifacts, logged_images
from podium.sweep.trial_process.checkpoint_methods import CheckpointMethods
from podium.sweep.trial_process.interval_end import IntervalEnd
from podium.sweep.trial_process.metric_downsampling import MetricCurves
from podium.sweep.trial_process.slot_answer_wait import SlotAnswers
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.stop_condition_check import EarlyFinish
from podium.sweep.trial_process.study_handle import Storage, Study
from podium.sweep.trial_process.suggest_methods import SuggestMethods
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.constraints_and_user_attributes import TrialAttributes
from podium.sweep.values.errors import BadReportError, UserCodeError
from podium.sweep.values.return_value_conversion import SHOWN, finite_number
from podium.sweep.values.slot_events import Saved

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from podium.sweep.data.memory_mapped_datasets import Dataset

PRUNE_ANSWER_S = 1.0


class Pruned(Exception):  # noqa: N818 - not an error; the name is part of the interface
    """Raised by user code to end a trial after `should_prune()` returned True."""


class Trial(CheckpointMethods, SuggestMethods):
    """Optuna's `suggest_*`, `report` and `should_prune`, and methods of Podium for data, files and checkpoints."""

    Pruned = Pruned

    def __init__(self, assignment: Assignment, channel: Channel, device: torch.device) -> None:
        super().__init__(assignment, channel, SlotAnswers(channel, assignment.rank))
        self._reported_step: int | None = None  # of the last report
        self.has_own_reports = False  # `report` was called, so metrics logged to W&B are not reports
        self._sent: dict[int, float] = {}  # reports that were sent, by step
        self._last_report: tuple[int, float] | None = None
        self._curves = MetricCurves(assignment.key, channel.send)
        self.early_finish = EarlyFinish(assignment, channel.send, self._curves.send_last)
        self.interval_end = IntervalEnd(assignment.interval, self.early_finish.end)
        self._attrs = TrialAttributes()
        self.study = Study(assignment, channel, self._answers, self)
        self._started_at = datetime.datetime.now()  # local time without a zone, as in Optuna
        self.device = device
        self.directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
        self.late_prune_answers = 0
        self._is_exportable = False  # the network that was saved last can join an ensemble
        self._not_exportable_reason = ""
        self._data: Dataset | None = None

    @property
    def number(self) -> int:
        """The number of this trial in its sweep, starting at 0."""
        return self._assignment.number

    @property
    def rank(self) -> int:
        """The number of this process in a trial with several devices; 0 in any other trial.

        Only rank 0 reports, is pruned, suggests parameters that the sweep file does not name, and saves files.
        """
        return self._assignment.rank

    @property
    def world_size(self) -> int:
        """The number of processes of this trial: `resources.devices`, with a process on each."""
        return 1 if self._assignment.gang is None else self._assignment.gang.size

    @property
    def shared_dir(self) -> Path:
        """A folder for all ranks on this machine, such as for a checkpoint that all of them write.

        Removed when the trial ends: rank 0 keeps the checkpoint by `save_checkpoint_folder`.
        """
        return self.directory.shared

    @property
    def seed(self) -> int:
        """The seed of Python's, numpy's and torch's random number generators."""
        return self._assignment.seed

    @property
    def datetime_start(self) -> datetime.datetime:
        """The start of this attempt, in local time."""
        return self._started_at

    @property
    def code(self) -> Path | None:
        """The folder of the uploaded code, shared by all trials: read-only by convention."""
        return None if self._assignment.code is None else Path(self._assignment.code)

    @property
    def metric(self) -> str:
        """The name of the metric that `report` reports: the one used for pruning, or the first objective."""
        return self._assignment.metric

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of the objectives, in the order in which the trial returns their values."""
        return self._assignment.objectives

    @property
    def dir(self) -> Path:
        """The working directory; removed when the process exits."""
        return self.directory.work

    @property
    def data_cache(self) -> Path:
        """The folder of the memory-mapped data sets of this machine."""
        return Path(self._assignment.data_cache)

    @property
    def data(self) -> Dataset:
        """The data set of the sweep's `program.data`: memory-mapped, shared by all trials, loaded on first access.

        `trial.data.split("train")` copies the inputs and targets of a split; `trial.batches` iterates over a split.
        Raises `UserCodeError` if the sweep file has no `program.data`.
        """
        if self._data is None:
            from podium.sweep.data import memory_mapped_datasets  # numpy: only in this process

            self._data = memory_mapped_datasets.load(self._data_source(), self._assignment.split, self.data_cache)
        return self._data

    def batches(
        self, split: str, batch_size: int, *, shuffle: bool = False, pad: float | None = None
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Iterate over inputs and targets of a split of `trial.data`, on the trial's device.

        Batches are read on demand, so a split may be larger than memory. Shuffled by torch's seeded generator.

        Args:
            split: train, validation, calibration or test.
            batch_size: Rows of each batch; the last one may have fewer.
            shuffle: Whether the rows are in another order in each pass.
            pad: For rows of a table that are sequences: the value that fills the end of those that are shorter than the
                longest one of the data set. Each batch is then padded to its own longest sequence only: its inputs
                have the shape (rows, longest) instead of (rows, columns). Raises `ValueError` for images.
        """
        from podium.sweep.networks import dataset_batches  # torch: only in this process

        return dataset_batches.batches(self.data, split, batch_size, shuffle=shuffle, device=self.device, pad=pad)

    @property
    def folds(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """With `validation.folds`, the training and validation row numbers of each fold; else an empty list."""
        if not self._assignment.split.get("folds"):
            return []
        from podium.sweep.data import memory_mapped_datasets  # numpy: only in this process

        folds = memory_mapped_datasets.load_folds(self._data_source(), self._assignment.split, self.data_cache)
        return [(fold.rows["train"], fold.rows["validation"]) for fold in folds]

    def _data_source(self) -> dict[str, Any]:
        data: dict[str, Any] | None = self._assignment.program.get("data")
        if data is None:
            raise UserCodeError("the sweep file has no program.data; add: program: {data: {file: …, target: …}}")
        return data

    def report(self, value: float, step: int) -> None:
        """Report the sweep's metric at `step`; the first value of an attempt at a step counts.

        Reports are cheap. Of each metric, the first 1,000 points are stored, then every 2nd up to 2,000, every 4th up
        to 4,000, and so on: about 500 more for each doubling. The last point is also stored, unless the process is
        killed. Raises `BadReportError` unless `value` is a finite number and `step` an integer of at least 0.
        """
        self.has_own_reports = True
        if isinstance(value, Mapping):
            wanted = f"report the value of {self.metric!r} alone, or all of them by trial.log(values, step)"
            raise BadReportError(f"report(value={value!r:.{SHOWN}}): several metrics; {wanted}")
        number = finite_number(value, f"report(value={value!r})")
        is_integer = hasattr(step, "__index__") and not isinstance(step, bool)  # also an integer of numpy
        if not is_integer or not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"report(step={step!r}): step must be an integer of at least 0")
        self._before_report(int(step))
        self._report(int(step), number)
        self.early_finish.record(int(step), {self.metric: number})
        self.interval_end.record(int(step), number)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Record metrics at `step`; NaN and infinities are stored apart, counted, and shown as marks.

        A value of the metric that `report` reports counts as a report. Long curves are downsampled as in `report`, each
        metric separately.
        """
        numbers = {str(name): float(value) for name, value in values.items()}
        if not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"log(step={step!r}): step must be an integer of at least 0")
        finite = {name: number for name, number in numbers.items() if math.isfinite(number)}
        self._before_report(int(step))
        reported = finite.get(self.metric)
        if reported is not None:
            self._report(int(step), reported)
        other = {name: number for name, number in numbers.items() if name not in finite}
        finite.pop(self.metric, None)
        if finite or not numbers:
            self._curves.log(int(step), finite)
        if other:
            self._curves.log_non_finite(int(step), other)
        self.early_finish.record(int(step), numbers)
        if reported is not None:
            self.interval_end.record(int(step), reported)

    def _before_report(self, step: int) -> None:
        self.early_finish.before(step)
        self.interval_end.before(step)

    def _report(self, step: int, number: float) -> None:
        if step != self._reported_step:  # once, if it is both logged and reported
            self._reported_step = step
            if self._curves.report(step, number):
                self._sent.setdefault(step, number)
            self._last_report = (step, number)

    @property
    def reports(self) -> dict[int, float]:
        """The reports so far, by step: those that are stored, and the last one."""
        return dict(self._sent) if self._last_report is None else {**dict([self._last_report]), **self._sent}

    def heartbeat(self) -> None:
        """Report progress without a metric; rate-limited. A script's output counts as a heartbeat."""
        self._curves.heartbeat()

    def report_last(self) -> None:
        """Send the last point of each curve, if it was omitted; called when the trial's function returns."""
        self._curves.send_last()

    def should_prune(self) -> bool:
        """Whether to prune the trial, based on its last report; False if there is no answer within 1 s.

        For a report that was omitted from a long curve, usually False without a request.
        """
        if not self._assignment.prunable or self._reported_step is None or not self._curves.request_prune():
            return False
        step = self._reported_step
        answer = self._answers.wait(PRUNE_ANSWER_S, PruneAnswer, lambda answer: answer.step == step)
        if answer is None:
            self.late_prune_answers += 1
            return False
        return answer.prune

    def set_constraint(self, name: str, value: float) -> None:
        """Set the value of a constraint: it is violated above 0, and satisfied at 0 or below, as in Optuna.

        The search avoids parameters that violate a constraint, and such a trial is never the best. The last value of a
        name counts. Raises `BadReportError` unless the value is a finite number.
        """
        number = self._attrs.set_constraint(name, value)
        self._channel.send(AttrsReported(constraints={name: number}))

    @property
    def constraints(self) -> dict[str, float]:
        """The constraints set so far."""
        return dict(self._attrs.constraints)

    def set_user_attr(self, key: str, value: Any) -> None:
        """Set a user attribute: any JSON value; at most 16 KB per trial. Raises `BadReportError` otherwise."""
        plain = self._attrs.set_user_attr(key, value)
        self._channel.send(AttrsReported(user_attrs={key: plain}))

    @property
    def user_attrs(self) -> dict[str, Any]:
        """The user attributes set so far."""
        return dict(self._attrs.user_attrs)

    @property
    def storage(self) -> Storage:
        """System attributes for callbacks of optuna-integration; lost when the process exits."""
        return self.study._storage

    @property
    def system_attrs(self) -> dict[str, Any]:
        """The system attributes in `storage`."""
        return self.storage.get_trial_system_attrs(self._trial_id)

    def set_system_attr(self, key: str, value: Any) -> None:
        """Deprecated in Optuna: set a system attribute in `storage`."""
        self.storage.set_trial_system_attr(self._trial_id, key, value)

    @property
    def _trial_id(self) -> int:
        """Read by Optuna's callbacks."""
        return self._assignment.trial_id

    def save_model(
        self,
        model: torch.nn.Module,
        metadata: Mapping[str, str] | None = None,
        *,
        example: Any = None,
        outputs: str | None = None,
        classes: Sequence[str] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Save the weights of `model` as safetensors, atomically.

        With a function `build(params)` in the module of the objective, the network can join ensembles. This is checked
        immediately.

        Args:
            model: The network.
            metadata: Strings to store in the file.
            example: A batch of inputs, rows first; default: random rows of the width of the first layer, if linear.
            outputs: `logits`, `probabilities` or `values`.
            classes: The names of the outputs.
            params: The argument of `build`; default: `trial.params`.

        Raises `UserCodeError` if `build` does not reproduce the network.
        """
        self._check_saves("save_model")
        from podium.sweep.trial_process import ensemble_network_export  # torch: only in this process
        from podium.sweep.values.saved_network_manifest import NotExportable

        found = ensemble_network_export.save(
            self._assignment,
            self.directory.model,
            model,
            dict(metadata or {}),
            example=example,
            outputs=outputs,
            classes=classes,
            params=self.params if params is None else params,
        )
        self.keep(self.directory.model)
        self._is_exportable = not isinstance(found, NotExportable)
        if isinstance(found, NotExportable) and found.reason != self._not_exportable_reason:
            self._not_exportable_reason = found.reason
            print(f"podium: the network is saved, but cannot join an ensemble: {found.reason}")

    def save_predictions(
        self,
        predictions: Mapping[str, Any],
        *,
        targets: Mapping[str, Any] | None = None,
        outputs: str | None = None,
    ) -> None:
        """Save the predictions on the rows that ensembles are selected and fitted on.

        Args:
            predictions: Arrays (rows, outputs) for `validation`, `calibration`, or both: probabilities or values. Rows
                are in the order of the sweep's `program.data`.
            targets: Without `program.data`, the target of each row: class indices or values.
            outputs: `logits` converts `predictions` to probabilities.

        Raises `UserCodeError` for arrays that do not fit, or that differ from the predictions of a saved network.
        """
        self._check_saves("save_predictions")
        from podium.sweep.trial_process import ensemble_network_export, saved_predictions  # torch: only in this process

        data = ensemble_network_export.data_of(self._assignment)
        saved = saved_predictions.save(
            self.directory.predictions, predictions, targets=targets, outputs=outputs, data=data
        )
        if data is not None and self._is_exportable:
            ensemble_network_export.check_predictions(
                self._assignment, self.directory.model, predictions=saved, data=data, device=self.device
            )
        self.keep(self.directory.predictions)

    def save_artifact(self, path: str | Path, name: str | None = None) -> None:
        """Save a copy of a file under `name`, by default the name of the file; a folder becomes a zip archive.

        Replaces an artifact of the same name. At most 100 artifacts, 512 MB in total. Raises `UserCodeError`.
        """
        self._check_saves("save_artifact")
        self.keep(artifacts.save(self.directory, Path(path), name))

    def log_image(self, name: str, image: Any, step: int) -> None:
        """Log an image at `step`; the page of the trial shows those of a name with a slider over the steps.

        Args:
            name: Up to 100 characters; a prefix with `/` groups images.
            image: An array (height, width) or (height, width, channels) or a tensor (channels, height, width) with 1, 3
                or 4 channels, of integers from 0 to 255 or floating-point numbers from 0 to 1; an image of Pillow, a
                figure of Matplotlib; the path or content of a PNG, JPEG, GIF or WebP file.
            step: At least 0. An image of the same name and step is replaced.

        At most 1,000 images per trial, of 4 MB each, 256 MB in total. Raises `UserCodeError`.
        """
        self._check_saves("log_image")
        self.keep(logged_images.save(self.directory, name, image, step))

    def keep(self, path: Path) -> None:
        """Register a complete file in the folder of the attempt, so that it is retained."""
        name = str(path.relative_to(self.directory.root))
        self._channel.send(Saved(self._assignment.key, name, sha256_of(path), path.stat().st_size))
