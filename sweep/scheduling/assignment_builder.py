"""Builds the assignment that a slot needs to run an attempt. Pure; scheduler process."""

from __future__ import annotations

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.intervals import interval_of
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.population import Replay
from podium.sweep.spec.program import OwnCode
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.assignment import Assignment, Limits
from podium.sweep.values.device import Device
from podium.sweep.values.trial_seed import trial_seed


def assignment_of(sweep: LiveSweep, trial: LiveTrial, data: DataDirectory, device: Device) -> Assignment:
    """The assignment of a trial's current attempt on a device."""
    spec = sweep.spec
    bundle = spec.program.bundle if isinstance(spec.program, OwnCode) else None
    return Assignment(
        sweep_id=sweep.sweep_id,
        trial_id=trial.trial_id,
        number=trial.number,
        attempt=trial.attempt,
        params=trial.params,
        seed=_seed(spec, trial.number),
        metric=spec.pruned_on.name,
        program=spec.program.model_dump(),
        split=spec.validation.model_dump(mode="json"),
        directory=data.relative(data.attempt(sweep.sweep_id, trial.number, trial.attempt, trial.nonce)),
        data_cache=data.relative(data.data_cache),
        code=None if bundle is None else data.relative(data.bundle(bundle)),
        defined=tuple(sorted(trial.defined)),
        prunable=spec.early_terminate.type != "none",
        keep_checkpoint=spec.keep.checkpoints != "none",
        threads=spec.resources.threads or device.threads,
        limits=Limits(**spec.limits.model_dump()),
        objectives=tuple(metric.name for metric in spec.objectives),
        goals=tuple(metric.goal for metric in spec.objectives),
        sweep_name=spec.name,
        enqueued=trial.enqueued,
        objective=spec.reported_rule,
        stop=tuple((condition.metric, condition.at) for condition in spec.stop),
        interval=interval_of(sweep, trial, data),
    )


def _seed(spec: SweepSpec, number: int) -> int:
    """The seed of a trial; a replay has that of the trial that it repeats."""
    replayed = spec.population.trial_seed if isinstance(spec.population, Replay) else None
    return trial_seed(spec.seed, number) if replayed is None else replayed
