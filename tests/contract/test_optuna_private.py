"""The installed version of Optuna has the private API that `podium.sweep.search.optuna_private` uses."""

from __future__ import annotations

import dataclasses
import math
import warnings
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.pruners import PatientPruner, WilcoxonPruner
from optuna.samplers import BaseSampler, CmaEsSampler, NSGAIIISampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from podium.sweep.search.optuna_private import (
    BruteForce,
    MutableStorage,
    Nsga3,
    SeededRandomSampler,
    SharedSearchSpaces,
    SobolSequence,
    WarmCmaEs,
    all_enumerated,
    allow_stop,
    init_experimental,
    is_compatible,
    is_stopped,
    lazy_generator,
    nsga2_generation,
    nsga3_generation,
    stored_intermediate_value,
    stored_value,
    study_id,
    suggest,
    trial_tables,
)

UNIT = FloatDistribution(0.0, 1.0)
CHOICE = CategoricalDistribution(["a", "b"])


def _study(sampler: BaseSampler | None = None) -> optuna.Study:
    return optuna.create_study(storage=MutableStorage(), sampler=sampler)


def _finished(value: float, **params: float) -> FrozenTrial:
    return create_trial(value=value, params=params, distributions=dict.fromkeys(params, UNIT))


def _run(study: optuna.Study, trials: int) -> None:
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, suggest(trial, "x", UNIT) + suggest(trial, "y", UNIT))


def test_any_distribution_yields_a_value() -> None:
    trial = _study().ask()
    assert 0.0 <= suggest(trial, "x", UNIT) <= 1.0
    assert suggest(trial, "c", CHOICE) in ("a", "b")
    assert suggest(trial, "n", IntDistribution(3, 3)) == 3


def test_study_has_an_id_in_its_storage() -> None:
    storage = MutableStorage()
    study = optuna.create_study(storage=storage, study_name="mine")
    assert study_id(study) == storage.get_study_id_from_name("mine")


def test_replacing_a_finished_trial_updates_the_best_one() -> None:
    storage = MutableStorage()
    study = optuna.create_study(storage=storage)
    study.add_trials([_finished(1.0, x=0.1), _finished(2.0, x=0.2)])
    assert study.best_trial.number == 0
    replaced = study.trials[0]
    storage.replace(0, _finished(3.0, x=0.9))
    assert study.best_trial.number == 1
    assert (study.trials[0].params, study.trials[0].number) == ({"x": 0.9}, replaced.number)
    assert storage.get_trial_id_from_study_id_trial_number(study_id(study), 0) == 0
    storage.replace(0, create_trial(state=TrialState.RUNNING))
    storage.set_trial_state_values(0, TrialState.COMPLETE, [0.5])
    assert study.best_trial.number == 0


def test_value_within_the_bounds_of_its_distribution_is_compatible() -> None:
    assert is_compatible(0.5, FloatDistribution(0.0, 9.0), UNIT)
    assert not is_compatible(5.0, FloatDistribution(0.0, 9.0), UNIT)
    assert not is_compatible(1, IntDistribution(0, 1), UNIT)
    assert not is_compatible("a", CategoricalDistribution(["a"]), CHOICE)


def test_study_can_be_stopped_outside_optimize() -> None:
    study = _study()
    assert not is_stopped(study)
    with pytest.raises(RuntimeError):
        study.stop()
    allow_stop(study)
    study.stop()
    assert is_stopped(study)


def test_experimental_classes_initialize_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        patient = PatientPruner.__new__(PatientPruner)
        init_experimental(patient, PatientPruner, None, patience=3, min_delta=0.5)
        wilcoxon = WilcoxonPruner.__new__(WilcoxonPruner)
        init_experimental(wilcoxon, WilcoxonPruner, p_threshold=0.1, n_startup_steps=2)
        Nsga3(0, 10), BruteForce(0), SobolSequence({"x": UNIT}, 0, 1, 2)
    study = _study()
    trial = study.ask()
    for step in range(6):
        trial.report(float(step), step)
    assert patient.prune(study, study.trials[0])


def test_search_space_of_finished_trials_is_shared_between_samplers() -> None:
    spaces = SharedSearchSpaces()

    def space_of(sampler: BaseSampler) -> IntersectionSearchSpace:
        assert spaces.share(sampler) is sampler
        return next(value for value in vars(sampler).values() if isinstance(value, IntersectionSearchSpace))

    cmaes = space_of(CmaEsSampler(seed=0, warn_independent_sampling=False))
    assert space_of(NSGAIISampler(seed=0)) is cmaes
    tpe = space_of(TPESampler(seed=0))
    assert space_of(TPESampler(seed=1)) is tpe
    study = _study(TPESampler(seed=0, multivariate=True))
    pruned = create_trial(state=TrialState.PRUNED, params={"x": 0.5}, distributions={"x": UNIT})
    study.add_trial(pruned)
    assert tpe.calculate(study).keys() == {"x"} and not cmaes.calculate(study)  # as without sharing
    _run(study, 3)
    assert tpe.calculate(study).keys() == {"x"} and cmaes.calculate(study).keys() == {"x", "y"}


@pytest.mark.parametrize(
    ("make", "marks"),
    [
        (lambda: NSGAIISampler(seed=0, population_size=4), nsga2_generation(0)),
        (lambda: Nsga3(0, 4), nsga3_generation(0)),
    ],
)
def test_marked_trials_are_the_first_generation(make, marks) -> None:  # type: ignore[no-untyped-def]
    study = _study(make())
    for index in range(4):
        frozen = _finished(float(index), x=0.25 * index, y=0.0)
        frozen.system_attrs = dict(marks)
        study.add_trial(frozen)
    _run(study, 1)
    generation = {key: value for key, value in study.trials[-1].system_attrs.items() if key in marks}
    assert generation == dict.fromkeys(marks, 1), study.trials[-1].system_attrs


def test_brute_force_stops_after_all_configurations_and_ignores_other_trials() -> None:
    study = _study(BruteForce(0))
    allow_stop(study)  # the sampler calls it after the last configuration
    assert not all_enumerated(study.trials)
    study.add_trial(create_trial(state=TrialState.FAIL))
    seen = []
    while not all_enumerated(study.trials):
        trial = study.ask()
        seen.append(suggest(trial, "c", CHOICE))
        study.tell(trial, 0.0)
    assert sorted(seen) == ["a", "b"] and is_stopped(study)
    study.add_trial(_finished(0.0, other=0.5))
    assert all_enumerated(study.trials)


def test_sobol_sequence_accepts_a_given_space_and_position() -> None:
    space = {"x": UNIT, "y": UNIT}

    def point(position: int) -> dict[str, float]:
        study = _study(SobolSequence(space, position, 7, 0))
        trial = study.ask()
        return {name: suggest(trial, name, UNIT) for name in space}

    assert point(3) == point(3) != point(4)
    points = np.array([list(point(position).values()) for position in range(8)])
    for column in points.T:  # stratified: one of eight consecutive points in each eighth
        assert sorted((column * 8).astype(int)) == list(range(8))


def test_cmaes_warm_starts_from_earlier_trials() -> None:
    earlier = [_finished(0.0, x=0.9, y=0.9, unused=0.5), _finished(1.0, x=0.8, y=0.8, unused=0.5)]
    suggested = []
    for known in ([], earlier):
        study = _study()
        study.sampler = WarmCmaEs(1, known)
        _run(study, 1)  # the space is known after one trial
        values: list[float] = []
        for _ in range(12):
            study.sampler = WarmCmaEs(1 + len(values), known)
            trial = study.ask()
            values.append(suggest(trial, "x", UNIT))
            study.tell(trial, values[-1] + suggest(trial, "y", UNIT))
        suggested.append(float(np.mean(values[:6])))
    cold, warm = suggested
    assert abs(warm - 0.9) < abs(cold - 0.9)


def test_random_generator_of_a_sampler_is_found() -> None:
    lazy = [value for value in vars(TPESampler(seed=3)).values() if lazy_generator(value) is not None]
    assert lazy and isinstance(lazy_generator(lazy[0]), np.random.RandomState)
    assert lazy_generator(object()) is None


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_seeded_random_sampler_samples_what_optunas_does(seed: int) -> None:
    distributions = [
        UNIT, CHOICE, IntDistribution(1, 900, log=True), FloatDistribution(1e-5, 1.0, log=True),
        IntDistribution(-7, 9), IntDistribution(3, 27, step=4), FloatDistribution(-1.0, 0.75, step=0.25),
        CategoricalDistribution((True, 1.5, None)), CategoricalDistribution((1, 1.5, None)),
    ]  # fmt: skip
    sampled: list[list[object]] = []
    for sampler in (SeededRandomSampler(seed), RandomSampler(seed=seed)):
        trial = _study(sampler).ask()
        sampled.append([suggest(trial, str(index), distribution) for index, distribution in enumerate(distributions)])
    assert sampled[0] == sampled[1]


def test_nsga_generation_keys_differ() -> None:
    assert nsga2_generation(0).keys().isdisjoint(nsga3_generation(0))
    assert issubclass(Nsga3, NSGAIIISampler)


def test_a_trial_has_rows_in_the_tables_of_the_relational_storage() -> None:
    tables = trial_tables()
    columns = {
        field.name: {column.name for column in getattr(tables, field.name).c} for field in dataclasses.fields(tables)
    }
    assert columns["trials"] >= {"trial_id", "study_id", "number", "state", "datetime_start", "datetime_complete"}
    assert columns["params"] >= {"trial_id", "param_name", "param_value", "distribution_json"}
    assert columns["values"] >= {"trial_id", "objective", *stored_value(0.5)}
    assert columns["intermediate_values"] >= {"trial_id", "step", *stored_intermediate_value(0.5)}
    for name in ("user_attributes", "system_attributes"):
        assert columns[name] >= {"trial_id", "key", "value_json"}


@pytest.mark.parametrize("value", [0.5, math.inf, -math.inf, math.nan])
def test_rows_with_stored_values_are_read_back_by_optuna(tmp_path: Path, value: float) -> None:
    storage = RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.create_study(storage=storage)
    trial = study.ask()
    study.tell(trial, state=TrialState.FAIL)
    tables = trial_tables()
    with storage.engine.begin() as connection:
        point = {"trial_id": 1, "step": 3, **stored_intermediate_value(value)}
        connection.execute(tables.intermediate_values.insert(), [point])
        if not math.isnan(value):  # which is never the value of a trial
            connection.execute(tables.values.insert(), [{"trial_id": 1, "objective": 0, **stored_value(value)}])
            connection.execute(tables.trials.update().values(state=TrialState.COMPLETE))
    (read,) = optuna.load_study(study_name=study.study_name, storage=storage).trials
    assert read.intermediate_values == pytest.approx({3: value}, nan_ok=True)
    assert math.isnan(value) or read.value == value
