"""Implements `tune.report`, `tune.get_checkpoint` and `tune.get_context` of Ray Tune in a trial; trial process.

These functions, and the older `ray.train.report` and `ray.air.session.report`, look up a session object of Ray. Outside
Tune there is none, and they have no effect. When the user's code imports `ray.train` or `ray.tune`, this module sets
Podium's session there. It does not import Ray itself, nor connect to a Ray cluster.

Ray Train V2 (the default since Ray 2.51) looks up another object, which is set, too. Both are verified: with a version
of Ray that keeps them elsewhere, the import fails with a message.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from podium.sweep.trial_process.number_conversion import STEPS, named_step, number_of
from podium.sweep.trial_process.post_import_hooks import after_import
from podium.sweep.values.errors import BadReportError, UserCodeError

if TYPE_CHECKING:
    from podium.sweep.trial_process.trial_handle import Trial

_V1 = "ray.train._internal.session"
_V2 = "ray.train.v2._internal.execution.train_fn_utils"


class TuneSession:
    """The session that Ray's functions find. Ray reads the attributes without an underscore."""

    world_size = local_world_size = 1
    world_rank = local_rank = node_rank = 0  # None means a Tune session, in which Ray rejects `ray.train.report`
    accelerator = None
    metadata: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self._trial: Trial | None = None
        self._iteration = 0
        self._step = -1  # of the last report
        self._state: dict[str, Any] = {}
        self.last: dict[str, float] = {}  # the last value of each metric
        self._checkpoint: Any = None

    def install(self) -> None:
        """Replace Ray's session when the user's code imports Ray Train or Ray Tune."""
        after_import({_V1: self._set_v1, _V2: self._set_v2})

    def begin(self, trial: Trial) -> None:
        """Use this trial for reports from now on."""
        self._trial = trial

    def end(self, returned: Any) -> Any:
        """The result of the function; None or a partial dict is completed by the last reports."""
        if not self.last or not (returned is None or isinstance(returned, Mapping)):
            return returned
        values = {**self._current().early_finish.reduced_values(self.last), **(returned or {})}
        missing = [name for name in self._current().objectives if name not in values]
        if missing:
            raise BadReportError(
                f"tune.report was called with {', '.join(map(repr, values))}, but never with "
                f"{' and '.join(map(repr, missing))}; report it, or change the metric of the sweep file"
            )
        return values

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
            raise UserCodeError(
                "tune.report was called during the import of the module; call it in the function of the trial"
            )
        return self._trial

    # Called by Ray's functions.

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None) -> None:
        """Report metrics at the next step, and save the checkpoint. Raises `Pruned`."""
        trial = self._current()
        if not isinstance(metrics, Mapping):
            raise BadReportError(f"tune.report({metrics!r:.100}): expected a dict of metrics by name: {{'loss': 0.5}}")
        self._iteration += 1
        numbers = dict(_flat(metrics))
        self._step = self._next_step(metrics)
        if checkpoint is not None:
            self._save_checkpoint(trial, checkpoint, (self._step, numbers))
        self.last |= numbers
        others = {name: value for name, value in numbers.items() if name != trial.metric}
        others |= {
            name: number
            for name in STEPS
            if trial.early_finish.uses_metric(name) and (number := number_of(metrics.get(name))) is not None
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
        """The step among the metrics, if it increases; else Ray's `training_iteration`."""
        named = named_step(metrics)
        if named is not None and named > self._step:
            return named
        return max(self._iteration, self._step + 1)

    def _save_checkpoint(self, trial: Trial, checkpoint: Any, report: tuple[int, Mapping[str, float]]) -> None:
        if _is_local(checkpoint):
            saved = trial.save_checkpoint_folder(Path(checkpoint.path), self._iteration, report)
        else:
            with tempfile.TemporaryDirectory() as folder:
                saved = trial.save_checkpoint_folder(Path(checkpoint.to_directory(folder)), self._iteration, report)
        self._checkpoint = _checkpoint(saved.path)

    @property
    def loaded_checkpoint(self) -> Any:
        """The last reported checkpoint; before the first one, the newest of an earlier attempt, or None."""
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
        """The working directory of the trial, removed when the trial ends."""
        return str(self._current().dir)

    @property
    def trial_resources(self) -> Any:
        """One device, as Ray's placement group."""
        bundle = {"CPU": 1.0, "GPU": float(self._current().device.type == "cuda")}
        return importlib.import_module("ray.tune.execution.placement_groups").PlacementGroupFactory([bundle])

    @property
    def storage(self) -> NoReturn:
        raise UserCodeError("get_storage: not available in Podium; write to the working directory of the trial")

    def get_dataset_shard(self, dataset_name: str | None = None) -> NoReturn:
        """Not available."""
        raise UserCodeError(
            f"get_dataset_shard({dataset_name!r}): not available in Podium; load the data in the function"
        )

    def get_state(self, key: str) -> Any:
        return self._state.get(key)

    def set_state(self, key: str, value: Any) -> None:
        self._state[key] = value


class _TrainFunctions:
    """The session for Ray Train V2."""

    def __init__(self, session: TuneSession) -> None:
        self._session = session

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None, **options: Any) -> None:
        if options.get("validation"):
            raise UserCodeError(
                "ray.train.report(validation=…): not available in Podium; validate and report in the function"
            )
        self._session.report(metrics, checkpoint)

    def get_checkpoint(self) -> Any:
        return self._session.loaded_checkpoint

    def get_context(self) -> Any:
        return importlib.import_module("ray.tune").get_context()

    def get_dataset_shard(self, dataset_info: Any) -> NoReturn:
        self._session.get_dataset_shard(getattr(dataset_info, "dataset_name", None))

    def get_all_reported_checkpoints(self, **options: Any) -> list[Any]:
        raise UserCodeError(
            "get_all_reported_checkpoints: Podium retains the last checkpoint only; call get_checkpoint()"
        )

    def get_preemption_info(self) -> None:
        return None

    def is_distributed(self) -> bool:
        return False

    def barrier(self) -> None:
        return None

    def broadcast_from_rank_zero(self, data: Any) -> Any:
        return data


def _checkpoint(path: Path) -> Any:
    """Ray's checkpoint object for a folder; only called when Ray is imported."""
    return importlib.import_module("ray.tune").Checkpoint.from_directory(path)


def _is_local(checkpoint: Any) -> bool:
    return type(getattr(checkpoint, "filesystem", None)).__name__ == "LocalFileSystem"


def _flat(metrics: Mapping[Any, Any], above: str = "") -> list[tuple[str, float]]:
    """Numbers by name, nested ones as `outer/inner` like in Ray; other values are omitted."""
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
        f"tune.report is not supported with Ray {version}; in the function, write `yield {{'loss': loss}}` instead of "
        "`tune.report({'loss': loss})`"
    )
