"""Builds the assignment that a slot needs to run an attempt. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from podium.sweep.runtime.layout import DATASETS, DataDirectory
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.population_intervals import interval_of
from podium.sweep.spec.population import Replay
from podium.sweep.spec.program import OwnCode
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Assignment, GangPlace, Limits
from podium.sweep.values.device import Device
from podium.sweep.values.trial_seed import trial_seed

LOOPBACK = "127.0.0.1"  # where the ranks of one node meet


def assignment_of(
    sweep: LiveSweep, trial: LiveTrial, data: DataDirectory, device: Device, devices: Sequence[Device] = ()
) -> Assignment:
    """The assignment of a trial's current attempt on a device; of its rank 0 if it has several devices."""
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
        directory=data.relative_attempt(sweep.sweep_id, trial.number, trial.attempt, trial.nonce),
        data_cache=DATASETS,
        code=None if bundle is None else data.relative_bundle(bundle),
        defined=tuple(sorted(trial.defined)),
        prunable=spec.early_terminate.prunes,
        keep_checkpoint=spec.keep.checkpoints != "none",
        threads=spec.resources.threads or device.threads * _devices_per_process(sweep, devices),
        limits=Limits(**spec.limits.model_dump()),
        objectives=tuple(metric.name for metric in spec.objectives),
        goals=tuple(metric.goal for metric in spec.objectives),
        sweep_name=spec.name,
        enqueued=trial.enqueued,
        objective=spec.reported_rule,
        stop=tuple((condition.metric, condition.at) for condition in spec.stop),
        interval=interval_of(sweep, trial, data),
        gang=_place(devices, 0, 0, trial, one=spec.resources.processes == "one") if spec.resources.several else None,
        share=1.0 if spec.resources.several else min(1.0, trial.width),
    )


def rank_assignment(lead: Assignment, devices: Sequence[Device], rank: int, port: int) -> Assignment:
    """The assignment of a rank above 0: it reports nothing, and only rank 0 limits the time of the attempt."""
    assert lead.gang is not None
    return replace(
        lead,
        gang=_numbered(lead.gang, devices, rank, port),
        prunable=False,
        keep_checkpoint=False,
        limits=replace(lead.limits, trial_s=None, silence_s=None, on_timeout="fail"),
    )


def _devices_per_process(sweep: LiveSweep, devices: Sequence[Device]) -> int:
    one = not sweep.spec.resources.several or sweep.spec.resources.processes == "one"
    return len(devices) if devices and one else 1


def _place(devices: Sequence[Device], rank: int, port: int, trial: LiveTrial, *, one: bool) -> GangPlace:
    nodes = list(dict.fromkeys(device.node for device in devices))
    address = LOOPBACK if len(nodes) == 1 else devices[0].address
    run_id = f"{trial.trial_id}-{trial.attempt}-{trial.nonce}"
    place = GangPlace(0, 1 if one else len(devices), 0, 1, 0, len(nodes), run_id, (), (), address)
    return _numbered(place, devices, rank, port)


def _numbered(place: GangPlace, devices: Sequence[Device], rank: int, port: int) -> GangPlace:
    """The place of a rank; its local rank is its position among the devices of the gang on its node."""
    here = [device for device in devices if device.node == devices[rank].node]
    nodes = list(dict.fromkeys(device.node for device in devices))
    return replace(
        place,
        rank=rank,
        local_rank=here.index(devices[rank]),
        local_size=len(here) if place.size > 1 else 1,
        node_rank=nodes.index(devices[rank].node),
        visible=tuple(device.visible for device in here),
        uuids=tuple(device.uuid for device in here),
        port=port,
    )


def _seed(spec: SweepSpec, number: int) -> int:
    """The seed of a trial; a replay has that of the trial that it repeats."""
    replayed = spec.population.trial_seed if isinstance(spec.population, Replay) else None
    return trial_seed(spec.seed, number) if replayed is None else replayed
