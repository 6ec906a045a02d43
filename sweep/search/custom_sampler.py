"""The user's custom sampler, loaded once for the whole sweep. Search process.

Optuna's samplers are built again for each trial. A custom class may keep state in Python, so there is one instance,
constructed when the process starts, which receives each ended trial. After a restart it is constructed again with the
stored study, as after `optuna.load_study`.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler, BruteForceSampler, GridSampler
from optuna.trial import TrialState as OptunaState

from podium.sweep.search.custom_class_loading import load_sampler
from podium.sweep.search.optuna_private import allow_stop, is_stopped, lazy_generator
from podium.sweep.search.optuna_study import Study
from podium.sweep.search.samplers import seed_of
from podium.sweep.spec.custom_optuna_classes import SamplerClass
from podium.sweep.spec.sweep_spec import SweepSpec

_DEPTH = 4  # depth of nested attributes in which random generators are searched
_MAX_ATTRIBUTES = 10_000


class ClassSampler:
    """Holds the sampler instance. Raises `UnusableClassError`."""

    def __init__(self, spec: SweepSpec) -> None:
        assert isinstance(spec.method, SamplerClass)
        self._spec = spec
        self.sampler = load_sampler(spec.method.sampler, spec.method.args, seed_of(spec, 0))
        self.ended: list[int] = []  # ended trials that it has not received yet
        self._is_new = True
        self.stopped = False  # it called `study.stop()`: the search is exhausted

    def seeded(self, number: int) -> BaseSampler:
        """The sampler, with all its random generators seeded by the sweep's seed and the trial's number."""
        seed = seed_of(self._spec, number)
        random.seed(seed)
        np.random.seed(seed)
        if (torch := sys.modules.get("torch")) is not None:
            torch.manual_seed(seed)
        for position, generator in enumerate(_generators(self.sampler)):
            _reseed(generator, (seed + position) % 2**32)
        return self.sampler

    def catch_up(self, study: Study) -> dict[str, dict[str, Any]]:
        """Pass it the trials that ended since the last call; returns the attributes that it set on them, by number."""
        noted: dict[str, dict[str, Any]] = {}
        if self._is_new and isinstance(self.sampler, GridSampler | BruteForceSampler):
            # They may have stopped the study before a restart.
            self.ended = self.ended or _last_ended(study, of_grid=isinstance(self.sampler, GridSampler))
        self._is_new = False
        while self.ended:
            number = self.ended.pop(0)
            if found := self._after_trial(study, number):
                noted[str(number)] = found
        return noted

    def _after_trial(self, study: Study, number: int) -> dict[str, Any]:
        """Pass it an ended trial while attributes can still be set, as Optuna does; returns those that it set."""
        final = study[number]
        running = copy.copy(final)
        running.state, running.values = OptunaState.RUNNING, None
        study.put(number, running)
        noted = dict(final.system_attrs)
        allow_stop(study.optuna)
        try:
            self.sampler.after_trial(study.optuna, study[number], final.state, final.values)
        finally:
            noted = dict(study[number].system_attrs)
            ended = copy.copy(final)
            ended.system_attrs = noted
            study.put(number, ended)
        self.stopped = self.stopped or is_stopped(study.optuna)
        return {key: value for key, value in noted.items() if final.system_attrs.get(key) != value}


def _last_ended(study: Study, *, of_grid: bool) -> list[int]:
    """The last ended trial; `of_grid`: only among those that Optuna's grid sampler chose."""
    over = [number for number, one in enumerate(study.trials()) if one.state.is_finished()]
    return [number for number in over if not of_grid or "grid_id" in study[number].system_attrs][-1:]


def _generators(sampler: object) -> Iterator[Any]:
    """The random generators of an object, in the order of its attributes."""
    seen: set[int] = set()
    level: list[object] = [sampler]
    for _ in range(_DEPTH):
        below: list[object] = []
        for one in level:
            if id(one) in seen or len(seen) >= _MAX_ATTRIBUTES:
                continue
            seen.add(id(one))
            if isinstance(one, random.Random | np.random.RandomState | np.random.Generator):
                yield one
            else:
                below += _attributes(one)
        level = below


def _attributes(one: object) -> list[object]:
    if isinstance(one, dict):
        return list(one.values())
    if isinstance(one, list | tuple):
        return list(one)
    lazy = lazy_generator(one)
    return [lazy] if lazy is not None else list(getattr(one, "__dict__", {}).values())


def _reseed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(seed).state
    else:
        generator.seed(seed)
