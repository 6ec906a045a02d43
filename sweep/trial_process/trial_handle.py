"""What user code gets: the `trial`; trial process."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.sweep.runtime.atomic_files import sha256_of
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.trial_process import artifacts, checkpoint_folders
from podium.sweep.trial_process.channel import Channel
from podium.sweep.trial_process.checkpoint_folders import CheckpointFolder
from podium.sweep.trial_process.early_finish import Ending
from podium.sweep.trial_process.metric_thinning import Curves
from podium.sweep.trial_process.slot_answers import Answers
from podium.sweep.trial_process.study_handle import Storage, Study
from podium.sweep.trial_process.suggestions import Suggestions
from podium.sweep.values.errors import BadReportError, UserCodeError
from podium.sweep.values.objective_values import finite_number
from podium.sweep.values.trial import Assignment
from podium.sweep.values.trial_attributes import Notes

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from podium.sweep.data.datasets import Dataset
    from podium.sweep.trial_process.trial_checkpoints import Checkpoint

PRUNE_ANSWER_S = 1.0
MAX_STEP = 2**63 - 1


class Pruned(Exception):  # noqa: N818 - it is no error, and `raise trial.Pruned` is how people know it
    """Raised by user code to end a trial that `should_prune()`."""


class Trial(Suggestions):
    """What user code gets: Optuna's `suggest_*`, `report` and `should_prune`, and what only Podium knows."""

    Pruned = Pruned

    def __init__(self, assignment: Assignment, channel: Channel, device: torch.device) -> None:
        super().__init__(assignment, channel, Answers(channel))
        self._asked_step: int | None = None  # of the last report
        self.has_own_reports = False  # whether `report` was called; if not, what is logged to W&B counts
        self._sent: dict[int, float] = {}  # reports that were sent, by step
        self._last_report: tuple[int, float] | None = None
        self._curves = Curves(channel.send)
        self.ending = Ending(assignment, channel.send, self._curves.send_last)
        self._notes = Notes()
        self.study = Study(assignment, channel, self._answers, self)
        self._began = datetime.datetime.now()  # without a zone, as Optuna has it
        self.device = device
        self.directory = AttemptDirectory(Path(assignment.directory))
        self.late_prune_answers = 0
        self._joins = False  # whether the network that was saved last can join an ensemble
        self._unfit = ""  # and why not
        self._data: Dataset | None = None

    @property
    def number(self) -> int:
        """The number of this trial in its sweep, from 0."""
        return self._assignment.number

    @property
    def seed(self) -> int:
        """The seed that Python, numpy and torch were given."""
        return self._assignment.seed

    @property
    def datetime_start(self) -> datetime.datetime:
        """When this attempt began, in local time."""
        return self._began

    @property
    def code(self) -> Path | None:
        """The folder of the uploaded code, shared by all trials: to read from, not to write to."""
        return None if self._assignment.code is None else Path(self._assignment.code)

    @property
    def metric(self) -> str:
        """The name of the metric that `report` reports: what pruning goes by, or the first objective."""
        return self._assignment.metric

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of the metrics that the trial is judged by, in the order in which it returns their values."""
        return self._assignment.objectives

    @property
    def dir(self) -> Path:
        """The working directory; it goes when the process ends."""
        return self.directory.work

    @property
    def data_cache(self) -> Path:
        """Where this machine keeps its memory-mapped data sets."""
        return Path(self._assignment.data_cache)

    @property
    def data(self) -> Dataset:
        """The data set of the sweep's `program.data`, memory-mapped, shared by all trials; read when first asked for.

        `trial.data.split("train")` copies a split, inputs and targets; `trial.batches` gives some rows at a time.
        Raises `UserCodeError` where the sweep file names none.
        """
        if self._data is None:
            from podium.sweep.data import datasets  # numpy: only in this process

            self._data = datasets.load(self._named_data(), self._assignment.split, self.data_cache)
        return self._data

    def batches(
        self, split: str, batch_size: int, *, shuffle: bool = False
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Inputs and targets of a split of `trial.data`, on the trial's device, a batch at a time.

        The split may be larger than memory: it is read as you go. Shuffled by torch's generator, which is seeded.
        """
        from podium.sweep.networks import training_rows  # torch: only in this process

        return training_rows.batches(self.data, split, batch_size, shuffle=shuffle, device=self.device)

    @property
    def folds(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """With `validation.folds`: for each fold, the row numbers to train on and those to judge by; else none."""
        if not self._assignment.split.get("folds"):
            return []
        from podium.sweep.data import datasets  # numpy: only in this process

        folds = datasets.load_folds(self._named_data(), self._assignment.split, self.data_cache)
        return [(fold.rows["train"], fold.rows["validation"]) for fold in folds]

    def _named_data(self) -> dict[str, Any]:
        data: dict[str, Any] | None = self._assignment.program.get("data")
        if data is None:
            raise UserCodeError("the sweep file names no data; add them: program: {data: {file: …, target: …}}")
        return data

    def report(self, value: float, step: int) -> None:
        """Report the sweep's metric at `step`; the first value at a step counts. Raises `BadReportError` unless it is a
        finite number.

        Reports are cheap, and may be as many as you like: of each metric the first 1,000 points are kept, from then on
        every 2nd up to 2,000, every 4th up to 4,000, and so on, some 500 more for each doubling. The last point is
        kept too, unless the process is killed.
        """
        self.has_own_reports = True
        number = finite_number(value, f"report(value={value!r})")
        whole = hasattr(step, "__index__") and not isinstance(step, bool)  # numpy's whole numbers too
        if not whole or not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"report(step={step!r}): a step is a whole number from 0")
        self.ending.before(int(step))
        self._report(int(step), number)
        self.ending.note(int(step), {self.metric: number})

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Record metrics at `step`; NaN and infinities are left out, since a curve cannot show them.

        A value of the metric that `report` reports counts as a report. Of many points as many are kept as of `report`,
        for each metric by itself.
        """
        numbers = {str(name): float(value) for name, value in values.items()}
        if not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"log(step={step!r}): a step is a whole number from 0")
        finite = {name: number for name, number in numbers.items() if math.isfinite(number)}
        self.ending.before(int(step))
        if self.metric in finite:
            self._report(int(step), finite.pop(self.metric))
        if finite or not numbers:
            self._curves.log(int(step), finite)
        self.ending.note(int(step), numbers)

    def _report(self, step: int, number: float) -> None:
        if step != self._asked_step:  # once, where it is logged and reported too
            self._asked_step = step
            if self._curves.report(step, number):
                self._sent.setdefault(step, number)
            self._last_report = (step, number)

    @property
    def reports(self) -> dict[int, float]:
        """What was reported so far, by step: of many reports those that are kept, and the last one."""
        return dict(self._sent) if self._last_report is None else {**dict([self._last_report]), **self._sent}

    def alive(self) -> None:
        """Say that something goes on, now and then; a script does so by what it prints."""
        self._curves.show_life()

    def report_last(self) -> None:
        """Send the last points, if they were left out; done by itself when the trial's function ends."""
        self._curves.send_last()

    def should_prune(self) -> bool:
        """Whether to give up, judged by the last report; an answer later than 1 s counts as no.

        Where so many reports were made that most are left out, so are most questions: the answer is no, at once.
        """
        if not self._assignment.prunable or self._asked_step is None or not self._curves.ask():
            return False
        step = self._asked_step
        answer = self._answers.wait(PRUNE_ANSWER_S, lambda said: said["kind"] == "answer" and said["step"] == step)
        if answer is None:
            self.late_prune_answers += 1
            return False
        return bool(answer["prune"])

    def set_constraint(self, name: str, value: float) -> None:
        """Note by how much a condition is violated: above 0 it is, 0 or below it holds, as in Optuna.

        The search keeps away from values that violate one, and such a trial is never the best. What was set last under
        a name counts. Raises `BadReportError` unless the value is a finite number.
        """
        number = self._notes.set_constraint(name, value)
        self._channel.send(kind="noted", constraints={name: number})

    @property
    def constraints(self) -> dict[str, float]:
        """What `set_constraint` has noted so far."""
        return dict(self._notes.constraints)

    def set_user_attr(self, key: str, value: Any) -> None:
        """Note something for people who read the results: any JSON value, 16 KB a trial together.

        Raises `BadReportError` for what is none, or too large.
        """
        plain = self._notes.set_user_attr(key, value)
        self._channel.send(kind="noted", user_attrs={key: plain})

    @property
    def user_attrs(self) -> dict[str, Any]:
        """What `set_user_attr` has noted so far."""
        return dict(self._notes.user_attrs)

    @property
    def storage(self) -> Storage:
        """Where callbacks of optuna-integration note what is theirs; it ends with the process."""
        return self.study._storage

    @property
    def system_attrs(self) -> dict[str, Any]:
        """What callbacks noted in `storage`."""
        return self.storage.get_trial_system_attrs(self._trial_id)

    def set_system_attr(self, key: str, value: Any) -> None:
        """Optuna's old way to note something in `storage`."""
        self.storage.set_trial_system_attr(self._trial_id, key, value)

    @property
    def _trial_id(self) -> int:
        """As Optuna's callbacks ask for it."""
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
        """Keep the weights of `model` as safetensors, whole or not at all: now it can stand on the podium.

        With a function `build(params)` beside the objective, it can join ensembles; that it can is checked at once, and
        `UserCodeError` says why not. `example` is a batch as it goes into the network, rows first (default: rows of
        the width of the first layer, where that is linear); `outputs` what comes out, `logits`, `probabilities` or
        `values`; `classes` the names of the outputs; `params` what `build` is called with (default: `trial.params`).
        """
        from podium.sweep.trial_process import model_export  # torch: only in this process
        from podium.sweep.values.network_manifest import Unfit

        found = model_export.save(
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
        self._joins = not isinstance(found, Unfit)
        if isinstance(found, Unfit) and found.reason != self._unfit:
            self._unfit = found.reason
            print(f"podium: the network is kept, but cannot join an ensemble: {found.reason}")

    def save_predictions(
        self,
        predictions: Mapping[str, Any],
        *,
        targets: Mapping[str, Any] | None = None,
        outputs: str | None = None,
    ) -> None:
        """Keep what the network says of the rows that ensembles are selected and fitted on.

        `predictions` has an array (rows, outputs) for `validation`, for `calibration`, or for both: probabilities, or
        values. With `outputs="logits"` they are made into probabilities. Rows go in the order of the sweep's data
        (`program.data`); without that, `targets` has what is true of each: classes from 0, or values.
        Raises `UserCodeError` for what does not fit, a network that was saved before and says otherwise among it.
        """
        from podium.sweep.trial_process import model_export  # torch: only in this process
        from podium.sweep.trial_process import split_predictions as kept

        data = model_export.data_of(self._assignment)
        said = kept.save(self.directory.predictions, predictions, targets, outputs, data)
        if data is not None and self._joins:
            model_export.check_predictions(self._assignment, self.directory.model, said, data, self.device)
        self.keep(self.directory.predictions)

    def save_artifact(self, path: str | Path, name: str | None = None) -> None:
        """Keep a copy of any file under a name, `path`'s own by default: an image, a table, a report.

        A folder is kept as a zip archive. A file that was saved under this name before is replaced. 100 files and
        512 MB in all; `UserCodeError` says what is too much, and which names can be.
        """
        self.keep(artifacts.save(self.directory, Path(path), name))

    def save_checkpoint(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        epoch: int = 0,
        extra: Any = None,
    ) -> None:
        """Keep where the training is, whole or not at all, in place of the checkpoint before.

        When this attempt is lost, the trial's next one finds it with `resume()`. With the weights and the state of the
        optimizer goes that of Python's, numpy's and torch's generators; `extra` is for what else is needed: tensors,
        arrays, numbers, texts, and lists, tuples and dictionaries of them. Nothing is pickled. Checkpoints are removed
        when the trial has finished, unless the sweep file's `keep.checkpoints` says otherwise.
        """
        from podium.sweep.trial_process import trial_checkpoints  # torch: only in this process

        trial_checkpoints.save(self.directory.checkpoint, model, optimizer, epoch, extra, self._identity())

    def resume(self) -> Checkpoint | None:
        """The newest checkpoint of an earlier attempt of this trial; None where there is none.

        checkpoint = trial.resume()
        if checkpoint is not None:
            checkpoint.load_into(model, optimizer)
            start = checkpoint.epoch + 1
        """
        from podium.sweep.trial_process import trial_checkpoints  # torch: only in this process

        return trial_checkpoints.newest(self.directory, self._assignment.attempt, self._identity())

    def save_checkpoint_folder(self, source: Path, iteration: int) -> CheckpointFolder:
        """Keep a copy of a folder as the checkpoint of this attempt, as `tune.report(…, checkpoint=…)` does."""
        return checkpoint_folders.save(source, self.directory, iteration, self._identity())

    def resume_folder(self) -> CheckpointFolder | None:
        """The newest checkpoint folder of an earlier attempt of this trial; None where there is none."""
        return checkpoint_folders.newest(self.directory, self._assignment.attempt, self._identity())

    def _identity(self) -> str:
        """What tells this trial from another that had its number before an older database was restored."""
        mine = self._assignment
        planned = {name: value for name, value in mine.params.items() if name not in mine.defined}
        return json.dumps([mine.sweep_id, mine.trial_id, mine.seed, planned], sort_keys=True)

    def keep(self, path: Path) -> None:
        """Say that a file in the attempt's folder is complete and to be kept."""
        name = str(path.relative_to(self.directory.root))
        self._channel.send(kind="saved", name=name, sha256=sha256_of(path), size_bytes=path.stat().st_size)
