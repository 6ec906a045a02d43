"""Sweeps as objects in a notebook: their data and their HTML, in which untrusted text is escaped."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.api.client import data_frame, sweep_html
from podium.api.client.client import Client
from podium.api.client.notebook_objects import Sweep
from podium.sweep.values.errors import InvalidSpecError, MissingExtraError, NotFoundError, ServiceError
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig
from tests.specs import builtin_document

EVIL = '<script>alert("1")</script>&\'"'


@pytest.fixture
def podium(service: ServiceRig) -> Client:
    """A client of the API in this process."""
    return Client("http://testserver", "token-of-admin", http=service.client())


@pytest.fixture
def sweep(podium: Client, service: ServiceRig) -> Sweep:
    """Two finished trials with curves, a failed one and a running one."""
    sweep_id = service.sweep(name=EVIL)
    for number, value in enumerate((0.5, 0.75)):
        trial_id = service.trial(sweep_id, number, value, params={"lr": 0.01 * (number + 1)}, log="hello\n")
        service.points(trial_id, "val_accuracy", 0.25, value)
    service.trial(sweep_id, 2, None, cause=Cause.TIMEOUT)
    service.trial(sweep_id, 3, None)
    return podium.open_sweep(sweep_id)


def test_sweep_has_a_description(sweep: Sweep) -> None:
    assert (sweep.id, sweep.name, sweep.state, sweep.metrics) == (1, EVIL, "queued", ["val_accuracy"])
    assert sweep.counts == {"failed": 1, "finished": 2, "running": 1}
    assert [trial.number for trial in sweep.trials()] == [0, 1, 2, 3]
    assert [trial.state for trial in sweep.trials("failed")] == ["failed"]
    assert "best val_accuracy 0.75 (trial 1)" in repr(sweep)


def test_best_trial_has_its_results(sweep: Sweep) -> None:
    best = sweep.best()
    assert best is not None
    assert (best.number, best.value, best.values, best.params, best.user_attrs) == (1, 0.75, None, {"lr": 0.02}, {})
    assert best.metrics() == {"val_accuracy": [[0, 0.25], [1, 0.75]]}
    assert best.log() == "hello\n"
    details: Any = best.refresh().data
    assert details["attempts"][0]["state"] == "finished"
    assert "0.75" in best._repr_html_() and repr(best).startswith("Trial(1, finished")


def test_sweep_without_trials_has_no_best_trial(podium: Client, service: ServiceRig) -> None:
    empty = podium.open_sweep(service.sweep())
    assert (empty.best(), empty.trials()) == (None, [])
    assert "no trials yet" in empty._repr_html_()
    frame = empty.to_pandas()
    assert (len(frame), "params_lr" in frame, "value" in frame) == (0, True, True)
    assert empty.as_optuna_study().trials == []


def test_sweep_file_is_submitted_with_its_lines(podium: Client, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "name: small\nmetric: {name: val_accuracy, goal: maximize}\n"
        "parameters:\n  lr: {min: 1e-6, max: 1e-2, log: true}\n"
        "program: {model: mlp, data: {name: digits}}\n"
    )
    assert podium.submit_file(file)["spec"]["parameters"]["lr"]["min"] == 1e-6
    file.write_text(file.read_text().replace("log: true", "lgo: true"))
    with pytest.raises(InvalidSpecError, match=r"sweep\.yaml:4: parameters\.lr\.lgo: .*did you mean 'log'"):
        podium.submit_file(str(file))


def test_function_may_define_all_parameters_itself(podium: Client, service: ServiceRig) -> None:
    program = {"function": "train:objective", "bundle": "0" * 64}
    sweep_id = service.sweep(program=program, parameters=None, metric={"name": "loss", "goal": "minimize"})
    service.trial(sweep_id, 0, 0.5, params={"lr": 0.1}, model=False)
    sweep = podium.open_sweep(sweep_id)
    assert "parameters" not in sweep.data["spec"] and list(sweep.to_pandas()["params_lr"]) == [0.1]
    assert sweep.as_optuna_study().best_params == {"lr": 0.1}


def test_unknown_id_is_not_found(podium: Client) -> None:
    with pytest.raises(NotFoundError):
        podium.open_sweep(9)
    with pytest.raises(NotFoundError):
        podium.open_trial(9)


def test_data_frame_has_a_row_for_each_trial(sweep: Sweep) -> None:
    frame = sweep.to_pandas()
    assert list(frame.columns) == [
        "number", "state", "value", "params_lr", "cause", "sampler", "fallback_reason", "fallback_error",
        "proposed_for", "attempts", "device", "devices", "peak_memory_mb",
        "peak_gpu_memory_mb", "created_at", "started_at", "ended_at", "duration_s", "running_s",
        "queued_s", *(f"metrics_val_accuracy_{figure}" for figure in sorted(data_frame.FIGURES)), "trial_id",
    ]  # fmt: skip
    assert list(frame["state"]) == ["finished", "finished", "failed", "running"]
    assert list(frame["value"])[:2] == [0.5, 0.75] and frame["value"].isna().sum() == 2
    assert (frame["value"].dtype, frame["params_lr"].dtype) == ("float64", "float64")
    assert frame.loc[2, "cause"] == "timeout"
    assert frame["started_at"].dt.tz is not None and pandas.isna(frame.loc[3, "ended_at"])
    assert frame.loc[0, "duration_s"] == 2.0


def test_each_objective_has_a_column(podium: Client) -> None:
    document = {
        "name": "two", "source": "a test", "parameters": {},
        "metrics": [{"name": "loss", "goal": "minimize"}, {"name": "score", "goal": "maximize"}],
        "trials": [
            {"state": "finished", "values": [0.5, 2.0], "user_attrs": {"note": "x"}, "constraints": {"size": -1.0}},
            {"state": "failed"},
        ],
    }  # fmt: skip
    sweep = podium.open_sweep(podium.import_sweep(document)["id"])
    frame = sweep.to_pandas()
    assert list(frame.columns)[:6] == [
        "number", "state", "values_loss", "values_score", "user_attrs_note", "constraints_size",
    ]  # fmt: skip
    assert frame.loc[0, "values_score"] == 2.0
    best = sweep.best()
    assert best is not None and best.values == {"loss": 0.5, "score": 2.0}
    assert "score" in sweep._repr_html_()
    assert podium.import_sweep(document)["id"] == sweep.id, "the same study is taken once"


def test_study_has_the_data_for_plots(sweep: Sweep) -> None:
    study = sweep.as_optuna_study()
    assert (study.study_name, study.best_value) == (EVIL, 0.75)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "FAIL", "RUNNING"]
    assert study.trials[1].intermediate_values == {0: 0.25, 1: 0.75}


def test_missing_pandas_raises_an_error_that_names_it(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *more: Any, **options: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(MissingExtraError, match=r"pip install 'podium\[pandas\]'"):
        sweep.to_pandas()


def test_wait_prints_progress(
    podium: Client, sweep: Sweep, service: ServiceRig, capsys: pytest.CaptureFixture[str]
) -> None:
    podium.poll_s = 0
    with pytest.raises(ServiceError, match="still queued after 0 s"):
        sweep.wait(timeout_s=0)
    service.end_sweep(sweep.id)
    assert sweep.wait().state == "finished"
    assert capsys.readouterr().err.count("is finished: 1 failed, 2 finished, 1 running") == 1
    sweep.wait(progress=False)
    assert capsys.readouterr().err == ""


def test_submit_returns_a_sweep_object(podium: Client) -> None:
    assert Sweep.submit(podium, builtin_document()).state == "queued"


def test_ensemble_is_an_object(podium: Client, sweep: Sweep) -> None:
    built = podium.build_ensemble(sweep.id, k=2, name="top")
    ensemble = podium.open_ensemble("top")
    assert (ensemble.id, ensemble.name, ensemble.state) == (built["id"], "top", "building")
    assert "building" in ensemble._repr_html_()


# The HTML.


def test_untrusted_text_is_escaped_in_html(sweep: Sweep) -> None:
    page = sweep._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("<circle") == 2
    ElementTree.fromstring(f"<div>{page}</div>")


def test_infeasible_trial_is_not_in_the_plot_of_the_best_so_far(sweep: Sweep, service: ServiceRig) -> None:
    service.trial(sweep.id, 4, 0.99, constraints={"size": 0.5})
    page = sweep._repr_html_()
    assert page.count("<circle") == 2 and "0.99" not in page


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.floats(-1e300, 1e300)), max_size=50),
    st.text(max_size=20),
    st.booleans(),
)
def test_any_history_can_be_drawn(points: list[tuple[int, float]], metric: str, maximize: bool) -> None:
    drawn = sweep_html.svg(points, metric, maximize=maximize)
    assert ("<svg" in drawn) == bool(points)
    assert "nan" not in drawn
    printable = "".join(c for c in drawn if c.isprintable())
    if points:
        assert ElementTree.fromstring(printable).tag == "svg"


def test_many_points_are_thinned() -> None:
    drawn = sweep_html.svg([(n, float(n % 7)) for n in range(10_000)], "loss", maximize=False)
    assert drawn.count("<circle") <= sweep_html.MAX_POINTS
    assert len(drawn) < 200_000


@given(st.text())
def test_cell_is_escaped_text(text: str) -> None:
    shown = sweep_html.cell(text)
    assert not set(shown) & set("<>\"'")
