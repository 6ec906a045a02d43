"""Makes `tune.report`, `tune.get_checkpoint` and `tune.get_context` of Ray Tune work in a trial; trial process.

These, and the older `ray.train.report` and `ray.air.session.report`, look up one session object of Ray when they
are called; outside Tune there is none, and they return without effect. Here Podium's session takes its place when the
user's code imports `ray.train` or `ray.tune`. Ray is not imported by this module, and no Ray cluster is connected to.

With Ray Train V2 (the default since Ray 2.51), `ray.train.report` asks for another object, which is set too. Both are
checked when they are set: a version of Ray in which they have moved fails at its import, and says what to write.
"""

from __future__ import annotations

import importlib
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from podium.sweep.trial_process.import_hooks import after_import
from podium.sweep.trial_process.report_values import STEPS, named_step, number_of
from podium.sweep.values.errors import BadReportError, UserCodeError

if TYPE_CHECKING:
    from podium.sweep.trial_process.trial_handle import Trial

_V1 = "ray.train._internal.session"
_V2 = "ray.train.v2._internal.execution.train_fn_utils"


class TuneSession:
    """What Ray's functions find as their session. Attributes without an underscore are those that Ray reads."""

    world_size = local_world_size = 1
    world_rank = local_rank = node_rank = 0  # None would mean a Tune session, in which Ray refuses `ray.train.report`
    accelerator = None
    metadata: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self._trial: Trial | None = None
        self._iteration = 0
        self._step = -1  # of the last report
        self._state: dict[str, Any] = {}
        self.last: dict[str, float] = {}  # by metric, the value reported last
        self._checkpoint: Any = None

    def install(self) -> None:
        """Take the place of Ray's session as soon as the user's code imports Ray Train or Ray Tune."""
        after_import({_V1: self._set_v1, _V2: self._set_v2})

    def begin(self, trial: Trial) -> None:
        """From now on what is reported is this trial's."""
        self._trial = trial

    def end(self, returned: Any) -> Any:
        """What the function returned; where that is nothing or a part, with what it reported last."""
        if not self.last or not (returned is None or isinstance(returned, Mapping)):
            return returned
        together = {**self._current().early_finish.chosen(self.last), **(returned or {})}
        missing = [name for name in self._current().objectives if name not in together]
        if missing:
            raise BadReportError(
                f"tune.report was called with {', '.join(map(repr, together))}, but never with "
                f"{' and '.join(map(repr, missing))}; name one of these as the metric of the sweep file, or report that"
            )
        return together

    def _set_v1(self, module: ModuleType) -> None:
        module.__dict__["_session"] = self
        get: Any = getattr(module, "get_session", None)
        if get is None or get() is not self:
            _refuse_version()

    def _set_v2(self, module: ModuleType) -> None:
        place: Any = getattr(module, "set_train_fn_utils", None)
        get: Any = getattr(module, "get_train_fn_utils", None)
        functions = _TrainFunctions(self)
        if place is not None:
            place(functions)
        if get is None or get() is not functions:
            _refuse_version()

    def _current(self) -> Trial:
        if self._trial is None:
            raise UserCodeError("tune.report was called while the module was imported; call it in the trial's function")
        return self._trial

    # What Ray's functions call.

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None) -> None:
        """Report numbers at the next step, and keep the checkpoint. Raises `Pruned` when the trial is to end."""
        trial = self._current()
        if not isinstance(metrics, Mapping):
            raise BadReportError(f"tune.report({metrics!r:.100}): write a dict of metrics by name: {{'loss': 0.5}}")
        self._iteration += 1
        if checkpoint is not None:
            self._keep(trial, checkpoint)
        numbers = dict(_flat(metrics))
        self._step = self._next_step(metrics)
        self.last |= numbers
        others = {name: value for name, value in numbers.items() if name != trial.metric and math.isfinite(value)}
        others |= {
            name: number
            for name in STEPS
            if trial.early_finish.watches(name) and (number := number_of(metrics.get(name))) is not None
        }
        if others:
            trial.log(others, self._step)
        if trial.metric in numbers:
            trial.report(numbers[trial.metric], self._step)
            if trial.should_prune():
                raise trial.Pruned
        else:
            trial.heartbeat()

    def _next_step(self, metrics: Mapping[str, Any]) -> int:
        """What the metrics name as their step, if it grows from report to report; else Ray's `training_iteration`."""
        named = named_step(metrics)
        if named is not None and named > self._step:
            return named
        return max(self._iteration, self._step + 1)

    def _keep(self, trial: Trial, checkpoint: Any) -> None:
        if _is_local(checkpoint):
            saved = trial.save_checkpoint_folder(Path(checkpoint.path), self._iteration)
        else:
            with tempfile.TemporaryDirectory() as folder:
                saved = trial.save_checkpoint_folder(Path(checkpoint.to_directory(folder)), self._iteration)
        self._checkpoint = _checkpoint(saved.path)

    @property
    def loaded_checkpoint(self) -> Any:
        """The one that was reported last; before that, the newest one of an earlier attempt, or None."""
        earlier = None if self._checkpoint is not None else self._current().resume_folder()
        if earlier is not None:
            self._iteration = max(self._iteration, earlier.iteration)
            self._checkpoint = _checkpoint(earlier.path)
        return self._checkpoint

    @property
    def experiment_name(self) -> str:
        return self._current().study.study_name

    @property
    def trial_id(self) -> str:
        trial = self._current()
        return f"{trial.study._study_id}_{trial.number:05d}"

    run_id = trial_id

    @property
    def trial_name(self) -> str:
        return f"{self.experiment_name}_{self.trial_id}"

    @property
    def trial_dir(self) -> str:
        """The working directory of the trial; it is removed when the trial ends."""
        return str(self._current().dir)

    @property
    def trial_resources(self) -> Any:
        """One device, as Ray writes it."""
        bundle = {"CPU": 1.0, "GPU": float(self._current().device.type == "cuda")}
        return importlib.import_module("ray.tune.execution.placement_groups").PlacementGroupFactory([bundle])

    @property
    def storage(self) -> NoReturn:
        raise UserCodeError("get_storage: a trial of Podium has no storage of Ray's; write to the trial's directory")

    def get_dataset_shard(self, dataset_name: str | None = None) -> NoReturn:
        """A trial has no data sets of Ray's."""
        raise UserCodeError(f"get_dataset_shard({dataset_name!r}): load the data in the function; Podium has no shards")

    def get_state(self, key: str) -> Any:
        return self._state.get(key)

    def set_state(self, key: str, value: Any) -> None:
        self._state[key] = value


class _TrainFunctions:
    """The same for Ray Train V2."""

    def __init__(self, session: TuneSession) -> None:
        self._session = session

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None, **options: Any) -> None:
        if options.get("validation"):
            raise UserCodeError("ray.train.report(validation=…): validate in the function, and report what is found")
        self._session.report(metrics, checkpoint)

    def get_checkpoint(self) -> Any:
        return self._session.loaded_checkpoint

    def get_context(self) -> Any:
        return importlib.import_module("ray.tune").get_context()

    def get_dataset_shard(self, dataset_info: Any) -> NoReturn:
        self._session.get_dataset_shard(getattr(dataset_info, "dataset_name", None))

    def get_all_reported_checkpoints(self, **options: Any) -> list[Any]:
        raise UserCodeError("get_all_reported_checkpoints: Podium keeps the last one; call get_checkpoint()")

    def get_preemption_info(self) -> None:
        return None

    def is_distributed(self) -> bool:
        return False

    def barrier(self) -> None:
        return None

    def broadcast_from_rank_zero(self, data: Any) -> Any:
        return data


def _checkpoint(path: Path) -> Any:
    """Ray's object for a folder. Ray is imported already, or nobody would ask."""
    return importlib.import_module("ray.tune").Checkpoint.from_directory(path)


def _is_local(checkpoint: Any) -> bool:
    return type(getattr(checkpoint, "filesystem", None)).__name__ == "LocalFileSystem"


def _flat(metrics: Mapping[Any, Any], above: str = "") -> list[tuple[str, float]]:
    """Numbers by name; those of a dict within it as `outer/inner`, as Ray names them. Other values are left out."""
    found: list[tuple[str, float]] = []
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{above}{name}/")
        elif (number := number_of(value)) is not None and not (above == "" and name in STEPS):
            found.append((f"{above}{name}", number))
    return found


def _refuse_version() -> NoReturn:
    version = getattr(importlib.import_module("ray"), "__version__", "?")
    raise UserCodeError(
        f"Ray {version} does not let tune.report reach Podium; in the function, write `yield {{'loss': loss}}` "
        "in place of `tune.report({'loss': loss})`"
    )
