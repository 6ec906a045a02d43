"""What user code gets: the `trial`; trial process."""

from __future__ import annotations

import datetime
import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from sweep import suggesting
from sweep.channel import Channel
from sweep.errors import BadReportError, NotInTrialError, UserCodeError
from sweep.files import sha256_of
from sweep.layout import AttemptDirectory
from sweep.notes import Notes
from sweep.returned import finite_number
from sweep.suggesting import Distribution
from sweep.thinning import Curves
from sweep.trial import Assignment, Params, Scalar

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from sweep.datasets import Dataset
    from sweep.resuming import Checkpoint

PRUNE_ANSWER_S = 1.0
SUGGEST_ANSWER_S = 10.0
MAX_PARAMS = 1000
MAX_STEP = 2**63 - 1


class Pruned(Exception):  # noqa: N818 - it is no error, and `raise trial.Pruned` is how people know it
    """Raised by user code to end a trial that `should_prune()`."""


class Trial:
    """What user code gets: Optuna's `suggest_*`, `report` and `should_prune`, and what only Podium knows."""

    Pruned = Pruned

    def __init__(self, assignment: Assignment, channel: Channel, device: torch.device) -> None:
        self._assignment = assignment
        self._channel = channel
        self._asked_step: int | None = None  # of the last report
        self._curves = Curves(channel.send)
        self._notes = Notes()
        self._params: Params = dict(assignment.params)
        self._distributions: dict[str, Distribution] = {}
        self._unread: dict[str, Any] | None = None  # an answer that came while another was waited for
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
    def params(self) -> Params:
        """The values chosen for this trial, by parameter."""
        return dict(self._params)

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
            from sweep import datasets  # numpy: only in this process

            self._data = datasets.load(self._named_data(), self._assignment.split, self.data_cache)
        return self._data

    def batches(
        self, split: str, batch_size: int, *, shuffle: bool = False
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Inputs and targets of a split of `trial.data`, on the trial's device, a batch at a time.

        The split may be larger than memory: it is read as you go. Shuffled by torch's generator, which is seeded.
        """
        from sweep import training_rows  # torch: only in this process

        return training_rows.batches(self.data, split, batch_size, shuffle=shuffle, device=self.device)

    @property
    def folds(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """With `validation.folds`: for each fold, the row numbers to train on and those to judge by; else none."""
        if not self._assignment.split.get("folds"):
            return []
        from sweep import datasets  # numpy: only in this process

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
        number = finite_number(value, f"report(value={value!r})")
        whole = hasattr(step, "__index__") and not isinstance(step, bool)  # numpy's whole numbers too
        if not whole or not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"report(step={step!r}): a step is a whole number from 0")
        self._report(int(step), number)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Record metrics at `step`; NaN and infinities are left out, since a curve cannot show them.

        A value of the metric that `report` reports counts as a report. Of many points as many are kept as of `report`,
        for each metric by itself.
        """
        numbers = {str(name): float(value) for name, value in values.items()}
        if not 0 <= int(step) <= MAX_STEP:
            raise BadReportError(f"log(step={step!r}): a step is a whole number from 0")
        finite = {name: number for name, number in numbers.items() if math.isfinite(number)}
        if self.metric in finite:
            self._report(int(step), finite.pop(self.metric))
        if finite or not numbers:
            self._curves.log(int(step), finite)

    def _report(self, step: int, number: float) -> None:
        if step != self._asked_step:  # once, where it is logged and reported too
            self._asked_step = step
            self._curves.report(step, number)

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
        answer = self._answer_to(PRUNE_ANSWER_S, lambda said: said["kind"] == "answer" and said["step"] == step)
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

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """The value of `name`: the planned one, checked against these bounds, or one that the search chooses now."""
        return float(cast(float, self._suggest(name, suggesting.float_range(name, low, high, step, log))))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """The value of `name`: the planned one, checked against these bounds, or one that the search chooses now."""
        return int(cast(int, self._suggest(name, suggesting.int_range(name, low, high, step, log))))

    def suggest_categorical(self, name: str, choices: Sequence[Scalar]) -> Any:
        """The value of `name`: the planned one, checked against these choices, or one that the search chooses now."""
        return self._suggest(name, suggesting.choice_of(name, choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Optuna's old name for `suggest_float`."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Optuna's old name for `suggest_float` with `log=True`."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Optuna's old name for `suggest_float` with a step."""
        return self.suggest_float(name, low, high, step=q)

    @property
    def distributions(self) -> dict[str, dict[str, Any]]:
        """What was suggested so far, each as a sweep file writes it: `{"min": 0.0, "max": 1.0}`."""
        return {name: dict(wanted) for name, wanted in self._distributions.items()}

    @property
    def study(self) -> NoReturn:
        """Optuna's study is where the search is, and not in the trial."""
        raise NotInTrialError(
            "a trial has no study here: the search is in another process; what its trials did is in Podium's database "
            "(podium trial list)"
        )

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
        from sweep import leaving  # torch: only in this process
        from sweep.user_network import Unfit

        found = leaving.save(
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
        from sweep import leaving  # torch: only in this process
        from sweep import predictions as kept

        data = leaving.data_of(self._assignment)
        said = kept.save(self.directory.predictions, predictions, targets, outputs, data)
        if data is not None and self._joins:
            leaving.check_predictions(self._assignment, self.directory.model, said, data, self.device)
        self.keep(self.directory.predictions)

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
        from sweep import resuming  # torch: only in this process

        resuming.save(self.directory.checkpoint, model, optimizer, epoch, extra, self._identity())

    def resume(self) -> Checkpoint | None:
        """The newest checkpoint of an earlier attempt of this trial; None where there is none.

        checkpoint = trial.resume()
        if checkpoint is not None:
            checkpoint.load_into(model, optimizer)
            start = checkpoint.epoch + 1
        """
        from sweep import resuming  # torch: only in this process

        return resuming.newest(self.directory, self._assignment.attempt, self._identity())

    def _identity(self) -> str:
        """What tells this trial from another that had its number before an older database was restored."""
        mine = self._assignment
        planned = {name: value for name, value in mine.params.items() if name not in mine.defined}
        return json.dumps([mine.sweep_id, mine.trial_id, mine.seed, planned], sort_keys=True)

    def keep(self, path: Path) -> None:
        """Say that a file in the attempt's folder is complete and to be kept."""
        name = str(path.relative_to(self.directory.root))
        self._channel.send(kind="saved", name=name, sha256=sha256_of(path), size_bytes=path.stat().st_size)

    def _suggest(self, name: str, wanted: Distribution) -> Scalar:
        suggesting.check_name(name)
        if name not in self._params:
            self._params[name] = self._define(name, wanted)
        elif (wrong := suggesting.complaint(self._params[name], wanted)) is not None:
            raise UserCodeError(f"{name} is {self._params[name]!r} in this trial, {wrong}")
        self._distributions.setdefault(name, wanted)
        return self._params[name]

    def _define(self, name: str, wanted: Distribution) -> Scalar:
        """Have the search choose a value for what the sweep file does not name; without an answer, draw one."""
        if len(self._params) >= MAX_PARAMS:
            raise UserCodeError(f"suggest({name!r}): a trial has {MAX_PARAMS} parameters at most")
        self._channel.send(kind="wanted", name=name, distribution=wanted)
        answer = self._answer_to(SUGGEST_ANSWER_S, lambda said: said["kind"] == "suggested" and said["name"] == name)
        if answer is None:
            value = suggesting.drawn(wanted, random.Random(f"{self.seed}:{name}"))  # noqa: S311 - no secret
            print(f"podium: the search did not choose {name} in time; it is {value!r}, at random", file=sys.stderr)
            self._channel.send(kind="wanted", name=name, distribution=wanted, drawn=True, value=value)
            return value
        if answer["error"]:
            raise UserCodeError(answer["error"])
        return cast(Scalar, answer["value"])

    def _answer_to(self, timeout_s: float, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """The message that answers a question; the last one that answers another is kept for who asks that."""
        unread, self._unread = self._unread, None
        if unread is not None and fits(unread):
            return unread
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            message = self._channel.receive(left)
            if message is None:
                break
            if fits(message):
                self._unread = unread
                return message
            unread = message
        self._unread = unread
        return None
