"""Studies and sweeps: Optuna studies are unchanged after import and export, through Podium and through files."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial
from starlette.testclient import TestClient

from podium.api.client import optuna_studies
from podium.sweep.search.optuna_distributions import distribution_of
from podium.sweep.spec.search_space import Parameter
from podium.sweep.studies import optuna_storage_io, study_conversion
from podium.sweep.values.errors import StudyError
from tests.service_rig import ServiceRig
from tests.specs import builtin_document

optuna.logging.set_verbosity(optuna.logging.WARNING)
Study = optuna.Study


def rich_study() -> Study:
    """One objective; every state, kind of parameter and condition; curves, attributes, names of any alphabet."""
    study = optuna.create_study(
        study_name="étude 雪", direction="minimize", sampler=optuna.samplers.RandomSampler(seed=1)
    )

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["sgd", "adam", None, 3, True])
        lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
        trial.suggest_int("layers", 1, 64, log=True)
        trial.suggest_float("学习率", 0.0, 1.0, step=0.25)
        if kind == "sgd":
            trial.suggest_int("nesterov", 0, 10, step=5)
        trial.suggest_float("moving", 0.0, 1.0 + trial.number)
        trial.set_user_attr("note", {"größe": [1, None, "=1"]})
        for step in range(3):
            trial.report(lr + step, step * 10)
        if trial.number % 5 == 1:
            raise optuna.TrialPruned
        if trial.number % 5 == 2:
            raise ValueError("it broke")
        trial.set_constraint("size", lr - 0.5)
        return lr

    study.optimize(objective, n_trials=15, catch=(ValueError,))
    return study


def several_objectives() -> Study:
    study = optuna.create_study(study_name="two", directions=["minimize", "maximize"])
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.set_metric_names(["loss", "score"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), n_trials=6)
    study.add_trial(create_trial(state=TrialState.FAIL, params={}, distributions={}))
    return study


def empty_study() -> Study:
    return optuna.create_study(study_name="nothing yet", direction="maximize")


def study_of_a_constrained_sampler() -> Study:
    """Its constraints have no names; Optuna stores them together under one key."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)
        sampler = optuna.samplers.TPESampler(seed=1, constraints_func=lambda trial: (trial.params["x"] - 0.5, -1))
    study = optuna.create_study(study_name="constrained", sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6)
    assert "constraints" in study.trials[0].system_attrs
    return study


STUDIES: list[Callable[[], Study]] = [rich_study, several_objectives, study_of_a_constrained_sampler, empty_study]


def by_podium(client: TestClient, study: Study) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The study as a sweep of the service: the sweep, and its trials."""
    answer = client.post("/api/v1/sweeps/import", json=study_conversion.to_document(study))
    assert answer.status_code == 201, answer.text
    sweep = answer.json()
    lines = client.get(f"/api/v1/sweeps/{sweep['id']}/export.jsonl").text.splitlines()
    return sweep, [json.loads(line) for line in lines]


def assert_same(one: Study, other: Study) -> None:
    assert one.directions == other.directions
    assert one.metric_names == other.metric_names
    for mine, theirs in zip(one.trials, other.trials, strict=True):
        assert_same_trial(mine, theirs)


def assert_same_trial(mine: FrozenTrial, theirs: FrozenTrial) -> None:
    for name in ("number", "state", "values", "params", "distributions", "user_attrs", "intermediate_values",
                 "constraints", "datetime_start", "datetime_complete"):  # fmt: skip
        assert getattr(mine, name) == getattr(theirs, name), name
    for name, value in mine.params.items():
        assert type(value) is type(theirs.params[name])


def test_constraints_are_finite_numbers() -> None:
    study = optuna.create_study()
    attributes = {"constraints": (math.inf, -math.inf, math.nan, 1)}
    study.add_trial(create_trial(value=1.0, system_attrs=attributes))
    (trial,) = study_conversion.to_document(study)["trials"]
    assert trial["constraints"] == {"0": sys.float_info.max, "1": -sys.float_info.max, "3": 1.0}


@pytest.mark.parametrize("make", STUDIES)
def test_study_is_unchanged_after_import_and_export(client: TestClient, make: Callable[[], Study]) -> None:
    study = make()
    back = optuna_studies.in_memory(*by_podium(client, study))
    assert back.study_name == study.study_name
    assert_same(study, back)


def test_details_of_the_sweep_survive_the_round_trip(client: TestClient, tmp_path: Path) -> None:
    sweep, trials = by_podium(client, rich_study())
    body = {"project": "vision", "description": "*why*", "tags": ["a", "b"]}
    changed = client.patch(f"/api/v1/sweeps/{sweep['id']}/details", json=body).json()
    storage = str(tmp_path / "study.db")
    optuna_studies.write(changed, trials, storage, "exported")
    document, _ = optuna_studies.read(storage, "exported", "again")
    imported = client.post("/api/v1/sweeps/import", json=document).json()
    assert {name: imported[name] for name in body} == body
    assert imported["owner"] == "admin"


@pytest.mark.parametrize(
    "file", ["study.db", pytest.param("étude 1?%20#.sqlite3", marks=pytest.mark.slow), "study.journal"]
)
@pytest.mark.parametrize("make", STUDIES)
def test_study_is_unchanged_after_file_round_trip(
    client: TestClient, tmp_path: Path, make: Callable[[], Study], file: str
) -> None:
    study, storage = make(), str(tmp_path / file)
    sweep, trials = by_podium(client, study)
    assert optuna_studies.write(sweep, trials, storage, "exported") == len(study.trials)
    assert_same(study, optuna_storage_io.read_study(storage))
    document, left_out = optuna_studies.read(storage, "exported", "again")
    assert (document["name"], left_out) == ("again", [])
    assert client.post("/api/v1/sweeps/import", json=document).status_code == 201


def test_written_storage_equals_one_written_by_optuna(client: TestClient, tmp_path: Path) -> None:
    study = rich_study()
    sweep, trials = by_podium(client, study)
    optuna_studies.write(sweep, trials, str(tmp_path / "ours.db"), "one")
    ours = optuna.load_study(study_name="one", storage=f"sqlite:///{tmp_path}/ours.db")
    theirs = optuna.create_study(study_name="one", storage=f"sqlite:///{tmp_path}/theirs.db")
    theirs.add_trials(study.trials)
    assert_same(theirs, ours)
    assert ours.best_trial.number == study.best_trial.number
    ours.optimize(lambda trial: trial.suggest_float("lr", 1e-5, 1.0, log=True), n_trials=1)
    assert ours.trials[-1].number == len(study.trials), "the study cannot be continued"


def test_storage_may_contain_other_studies(client: TestClient, tmp_path: Path) -> None:
    for file in ("many.db", "many.log"):
        storage = str(tmp_path / file)
        for make in STUDIES:
            sweep, trials = by_podium(client, make())
            optuna_studies.write(sweep, trials, storage, sweep["name"])
        for make in STUDIES:
            assert len(optuna_storage_io.read_study(storage, make().study_name).trials) == len(make().trials)
        with pytest.raises(StudyError, match="already has a study of this name"):
            optuna_studies.write(sweep, trials, storage, sweep["name"])
        with pytest.raises(
            StudyError, match=r"select a study with --study; studies in .*: 'étude 雪', 'two', .*'nothing yet'"
        ):
            optuna_storage_io.read_study(storage)
        with pytest.raises(StudyError, match="unknown study 'three'"):
            optuna_storage_io.read_study(storage, "three")


def test_reading_changes_nothing(client: TestClient, tmp_path: Path) -> None:
    folder = tmp_path / "studies"
    folder.mkdir()
    for file in ("study.db", "study.journal"):
        path = folder / file
        optuna_studies.write(*by_podium(client, rich_study()), str(path), "one")
        before = path.read_bytes()
        optuna_storage_io.read_study(str(path))
        optuna_storage_io.read_study(f"sqlite:///{path}") if file.endswith("db") else None
        assert path.read_bytes() == before
    assert sorted(found.name for found in folder.iterdir()) == ["study.db", "study.journal"]


BAD_STORAGES = {
    "nothing.db": (None, "cannot read .*: No such file"),
    "text.db": (b"hello\n", "is not an Optuna storage"),
    "empty.sqlite": (b"SQLite format 3\0", "cannot use .* as an Optuna storage"),
}


@pytest.mark.parametrize(("name", "content", "words"), [(n, *c) for n, c in BAD_STORAGES.items()], ids=BAD_STORAGES)
def test_invalid_storage_is_rejected_and_not_created(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for storage in (str(tmp_path / name), f"sqlite:///{tmp_path / name}"):
        with pytest.raises(StudyError, match=words):
            optuna_storage_io.read_study(storage)
    assert [path.name for path in tmp_path.iterdir()] == ([] if content is None else [name])


@pytest.mark.parametrize("storage", ["nosuch://host/db", "redis://localhost"])
def test_unusable_url_raises_study_error(storage: str) -> None:
    with pytest.raises(StudyError, match=r"cannot use .* as an Optuna storage"):
        optuna_storage_io.read_study(storage)


@pytest.mark.sqlite
def test_other_database_is_rejected_as_storage(tmp_path: Path, service: ServiceRig) -> None:
    before = service.data.database.read_bytes()
    with pytest.raises(StudyError, match=r"cannot use .* as an Optuna storage"):
        optuna_storage_io.read_study(str(service.data.database))
    assert service.data.database.read_bytes() == before


def test_password_is_not_shown() -> None:
    assert optuna_storage_io.without_password("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"
    with pytest.raises(StudyError) as caught:
        optuna_storage_io.read_study("nosuch://me:secret@host/db")
    assert "secret" not in str(caught.value)


# A Podium sweep as a study.


def test_sweep_exports_as_study_with_curves_and_best(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep(parameters={**builtin_document()["parameters"], "epochs": {"value": 3}})
    for number, value in enumerate((0.5, 0.75, None)):
        trial_id = service.trial(sweep_id, number, value, params={"lr": 0.01, "epochs": 3})
        service.points(trial_id, "val_accuracy", 0.25, 0.5)
        service.points(trial_id, "val_loss", 9.0)
    sweep = client.get(f"/api/v1/sweeps/{sweep_id}").json()
    lines = client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text.splitlines()
    study = optuna_studies.in_memory(sweep, [json.loads(line) for line in lines])
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "RUNNING"]
    assert (study.best_trial.number, study.best_value) == (1, 0.75)
    assert study.metric_names == ["val_accuracy"]
    assert study.trials[0].intermediate_values == {0: 0.25, 1: 0.5}
    assert study.trials[0].distributions == {
        "lr": FloatDistribution(1e-4, 0.1, log=True), "epochs": CategoricalDistribution([3]),
    }  # fmt: skip
    assert study.trials[0].duration is not None


@pytest.mark.parametrize(
    ("parameter", "values", "expected"),
    [
        ({"min": 0.0, "max": 1.0}, [0.5, 7.0], FloatDistribution(0.0, 7.0)),
        ({"min": 0, "max": 4}, [2, 9], FloatDistribution(0.0, 9.0)),
        ({"values": ["a"]}, ["a", "b"], CategoricalDistribution(["a", "b"])),
        ({"distribution": "normal", "mu": 0.0, "sigma": 1.0}, [-0.5, 2.5], FloatDistribution(-0.5, 2.5)),
    ],
)
def test_value_outside_space_widens_distribution(
    parameter: dict[str, Any], values: list[Any], expected: BaseDistribution
) -> None:
    spec = {"parameters": {"x": parameter}, "metric": {"name": "loss", "goal": "minimize"}}
    trials = [
        {"number": n, "state": "failed", "params": {"x": value}, "values": None, "metrics": {},
         "started_at": "2026-01-01T00:00:00+00:00", "created_at": None, "ended_at": "2026-01-01T00:00:01+00:00"}
        for n, value in enumerate(values)
    ]  # fmt: skip
    study = optuna_studies.in_memory({"name": "wide", "spec": spec}, trials)
    assert study.trials[-1].distributions["x"] == expected
    assert study.trials[-1].params["x"] == values[-1]


# Values that a sweep cannot store.


def test_unsupported_values_are_converted_and_reported(client: TestClient) -> None:
    study = optuna.create_study()
    study.add_trial(create_trial(value=math.inf))
    study.add_trial(create_trial(state=TrialState.PRUNED, intermediate_values={0: math.nan, 1: 0.5, 2: math.inf}))
    study.ask()
    study.enqueue_trial({"x": 1})
    study.add_trial(
        create_trial(
            value=1.0,
            user_attrs={
                "bad": math.nan,
                "odd": {
                    1,
                },
            },
        )
    )
    _, trials = by_podium(client, study)
    assert [trial["state"] for trial in trials] == ["failed", "pruned", "cancelled", "cancelled", "finished"]
    assert trials[1]["metrics"] == {"value": [[1, 0.5]]}
    assert trials[1]["non_finite"] == {"value": [[0, "nan"], [2, "inf"]]}
    assert trials[4]["user_attrs"] == {"bad": "nan", "odd": "{1}"}
    assert study_conversion.omitted_parts(study) == [
        "1 trials with an infinite value are imported as failed",
        "2 unfinished trials are imported as cancelled",
    ]


def test_values_that_are_not_finite_survive_a_study_in_between(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.points(trial_id, "val_accuracy", 0.25, math.nan, 0.5)
    service.points(trial_id, "grad norm", 1.0, math.inf, -math.inf, math.nan)
    line = json.loads(client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text)
    marks = {"val_accuracy": [[1, "nan"]], "grad norm": [[1, "inf"], [2, "-inf"], [3, "nan"]]}
    assert line["non_finite"] == marks

    study = study_conversion.to_study(client.get(f"/api/v1/sweeps/{sweep_id}").json(), [line])
    (frozen,) = study.get_trials()
    assert math.isnan(frozen.intermediate_values[1]) and frozen.intermediate_values[2] == 0.5
    assert frozen.user_attrs == {study_conversion.NON_FINITE_KEY: {"grad norm": marks["grad norm"]}}

    _, (imported,) = by_podium(client, study)
    assert imported["non_finite"] == marks
    assert imported["user_attrs"] == {}
    assert study_conversion.omitted_parts(study) == []


def test_parameter_of_two_kinds_is_rejected() -> None:
    study = optuna.create_study()
    study.add_trial(create_trial(value=1.0, params={"x": 1.0}, distributions={"x": FloatDistribution(0, 1)}))
    study.add_trial(create_trial(value=1.0, params={"x": "a"}, distributions={"x": CategoricalDistribution(["a"])}))
    with pytest.raises(StudyError, match="parameter 'x' is categorical in some trials and numeric in others"):
        study_conversion.to_document(study)


@st.composite
def distributions(draw: st.DrawFn) -> BaseDistribution:
    kind = draw(st.sampled_from(["choice", "int", "int log", "int step", "float", "float log", "float step"]))
    if kind == "choice":
        scalars = st.none() | st.booleans() | st.text(max_size=5) | st.integers(-9, 9) | st.floats(-9, 9)
        return CategoricalDistribution(draw(st.lists(scalars, min_size=1, max_size=5, unique=True)))
    low, width = draw(st.integers(1, 1000)), draw(st.integers(0, 1000))
    if kind.startswith("int"):
        step = draw(st.integers(2, 9)) if kind == "int step" else 1
        return IntDistribution(low, low + width // step * step, log=kind == "int log", step=step)
    if kind == "float step":
        return FloatDistribution(low, low + width, step=0.5)
    return FloatDistribution(low / 7, (low + width) / 7, log=kind == "float log")


@given(distributions())
def test_distribution_is_unchanged_after_round_trip(distribution: BaseDistribution) -> None:
    parameter = study_conversion.parameter_of(distribution)
    assert distribution_of(Parameter.model_validate(parameter)) == distribution


@settings(max_examples=30)
@given(st.lists(distributions(), min_size=1, max_size=4), st.data())
def test_space_of_study_contains_all_drawn_values(drawn: list[BaseDistribution], data: st.DataObject) -> None:
    kinds = {isinstance(distribution, CategoricalDistribution) for distribution in drawn}
    study = optuna.create_study()
    for each in drawn:
        study.add_trial(create_trial(state=TrialState.FAIL, params={"x": _lowest(each)}, distributions={"x": each}))
    if len(kinds) == 2:
        with pytest.raises(StudyError):
            study_conversion.to_document(study)
        return
    parameter = Parameter.model_validate(study_conversion.to_document(study)["parameters"]["x"])
    assert all(parameter.invalid_reason(_lowest(each)) is None for each in drawn)


def _lowest(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return distribution.low
