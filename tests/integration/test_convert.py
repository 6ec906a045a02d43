"""`podium sweep convert` with the real Ray Tune and Optuna: the converted space has the same values."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.spec.search_space import Parameter
from podium.sweep.specfile.ray_tune_space import space_of
from podium.sweep.specfile.spec_file import read_spec_file
from podium.sweep.values.errors import ConversionError
from tests import running_service
from tests.commands import Podium

tune = pytest.importorskip("ray.tune", exc_type=ImportError, reason="needs the extra of Ray Tune")

DRAWS = 3000
TRAIN = """
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    def train(config):
        tune.report({"loss": config["lr"]})

    tuner = tune.Tuner(
        train,
        param_space={
            "lr": tune.loguniform(1e-4, 1e-1),
            "layers": tune.randint(1, 5),
            "act": tune.choice(["relu", "tanh"]),
            "epochs": 10,
            "optimizer": {"momentum": tune.uniform(0, 1)},
        },
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=20, max_concurrent_trials=4, time_budget_s=600,
            scheduler=ASHAScheduler(max_t=50, grace_period=2, reduction_factor=4),
        ),
    )
    tuner.fit()
    raise RuntimeError("nobody waits for this")
"""


def _file(folder: Path, text: str, name: str = "train.py") -> Path:
    file = folder / name
    file.write_text(textwrap.dedent(text))
    return file


@pytest.fixture
def podium() -> Podium:
    def run(*arguments: object) -> tuple[int, str, str]:
        done = running_service.podium(*map(str, arguments))
        return done.returncode, done.stdout, done.stderr

    return run


# Bounds, measured on samples.


@pytest.mark.parametrize(
    "make",
    [
        lambda: tune.randint(1, 5),
        lambda: tune.lograndint(1, 9),
        lambda: tune.qrandint(3, 17, 4),
        lambda: tune.qrandint(0, 12, 4),
        lambda: tune.qrandint(2, 7, 1),
        lambda: tune.quniform(0.1, 0.5, 0.1),
        lambda: tune.quniform(-4, 8, 2),
        lambda: tune.choice(["a", 1, None, True]),
        lambda: tune.qlograndint(4, 32, 4),
        lambda: tune.qlograndint(1, 9, 1),
    ],
)
def test_finite_domains_have_the_same_values(make: Callable[[], Any]) -> None:
    domain = make()
    drawn = [domain.sample() for _ in range(DRAWS)]
    parameter = Parameter.model_validate(space_of({"x": domain}).parameters["x"])
    assert all(parameter.invalid_reason(_exact(value)) is None for value in drawn)
    if (choices := _choices(parameter)) is not None:
        assert {_key(_exact(value)) for value in drawn} == {_key(choice) for choice in choices}


def _choices(parameter: Parameter) -> list[Any] | None:
    if parameter.integer and parameter.log:
        assert parameter.min is not None and parameter.max is not None
        return list(range(int(parameter.min), int(parameter.max) + 1))
    if parameter.q is not None and parameter.is_range:
        assert parameter.min is not None and parameter.max is not None
        return [
            parameter.q * n for n in range(int(parameter.min // parameter.q), int(parameter.max // parameter.q) + 1)
        ]
    return parameter.choices()


def _exact(value: Any) -> Any:
    """Without the last digits that multiplying with q leaves."""
    return round(value, 9) if isinstance(value, float) else value


def _key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


@pytest.mark.parametrize(
    "make",
    [
        lambda: tune.uniform(-1, 2),
        lambda: tune.loguniform(1e-4, 1e-1),
        lambda: tune.qloguniform(1e-3, 1.0, 5e-4),
        lambda: tune.randn(3, 0.5),
        lambda: tune.qrandn(3, 0.5, 0.25),
    ],
)
def test_continuous_domains_have_the_same_range(make: Callable[[], Any]) -> None:
    domain = make()
    drawn = [float(domain.sample()) for _ in range(DRAWS)]
    parameter = Parameter.model_validate(space_of({"x": domain}).parameters["x"])
    assert all(parameter.invalid_reason(value) is None for value in drawn)
    if parameter.is_range:
        assert parameter.min is not None and parameter.max is not None
        assert min(drawn) < parameter.min + 0.1 * (parameter.max - parameter.min)
        assert max(drawn) > parameter.min + 0.8 * (parameter.max - parameter.min)
    else:
        assert sum(drawn) / DRAWS == pytest.approx(parameter.mu, abs=0.05)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: {"x": tune.sample_from(lambda spec: 1)}, "x: tune.sample_from is not supported"),
        (lambda: {"x": tune.choice([[1, 2], [3]])}, "x: must be a number, string, boolean or None, got [1, 2]"),
        (lambda: {"x": [1, 2]}, "x: must be a number, string, boolean or None, got [1, 2]"),
        (lambda: {"a": {"b": tune.uniform(0, 1)}, "a.b": 1}, "duplicate parameter 'a.b'"),
    ],
)
def test_unsupported_domain_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ConversionError) as caught:
        space_of(make())
    assert words in str(caught.value)


# The command.


def test_tuner_is_converted_to_valid_sweep_file(podium: Podium, tmp_path: Path) -> None:
    script, out = _file(tmp_path, TRAIN), tmp_path / "sweep.yaml"
    code, _, err = podium("sweep", "convert", script, "-o", out)
    assert code == 0, err
    words = "still available as config['optimizer']['momentum']"
    assert f"note: parameters.optimizer.momentum: nested parameter; {words}" in err
    spec, document = read_spec_file(out)
    assert document == {
        "name": "train",
        "method": "random",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {
            "lr": {"min": 1e-4, "max": 0.1, "log": True},
            "layers": {"min": 1, "max": 4},
            "act": {"values": ["relu", "tanh"]},
            "epochs": {"value": 10},
            "optimizer.momentum": {"min": 0.0, "max": 1.0},
        },
        "early_terminate": {"type": "asha", "min_iter": 2, "eta": 4},
        "run_cap": 20,
        "resources": {"max_concurrent": 4},
        "budget": {"wall_s": 600.0},
        "program": {"function": "train:train", "code": "."},
    }
    assert spec.run_cap == 20
    code, text, err = podium("sweep", "validate", out, "--data-dir", tmp_path / "data", "--devices", "cpu:1")
    assert code == 0, err
    assert f"train in {script}" in text


MAIN = """
    import argparse
    import ray
    from dataclasses import dataclass
    from ray import tune

    @dataclass
    class Options:
        samples: int

    def train(config):
        tune.report({"loss": config["lr"]})

    def main(options):
        ray.init()
        space = {"lr": tune.uniform(0, 1)}
        config = tune.TuneConfig(metric="loss", mode="min", num_samples=options.samples)
        tune.Tuner(train, param_space=space, tune_config=config).fit()
        raise RuntimeError("nobody waits for this")

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--samples", type=int, DEFAULT)
        main(Options(parser.parse_args().samples))
"""


def test_tuner_created_by_main_program_is_found(podium: Podium, tmp_path: Path) -> None:
    code, out, err = podium("sweep", "convert", _file(tmp_path, MAIN.replace("DEFAULT", "default=9")))
    assert code == 0, err
    assert "lr: {min: 0.0, max: 1.0}" in out and "run_cap: 9\n" in out and "{function: train:train, code:" in out


def test_main_program_that_fails_before_creating_tuner_is_reported(podium: Podium, tmp_path: Path) -> None:
    code, out, err = podium("sweep", "convert", _file(tmp_path, MAIN.replace("DEFAULT", "required=True")))
    assert (code, out) == (2, "")
    assert "cannot run the script: SystemExit: 2" in err and "name the search space: train.py:NAME" in err


@pytest.mark.slow
def test_grid_search_is_converted_to_grid(podium: Podium, tmp_path: Path) -> None:
    text = """
        from ray import tune
        space = {"a": tune.grid_search([1, 2, 3]), "b": tune.grid_search(["x", "y"]), "c": 7}
        config = tune.TuneConfig(metric="acc", mode="max", num_samples=2)
    """
    script = _file(tmp_path, text)
    code, out, err = podium("sweep", "convert", f"{script}:space", "--function", "train:objective")
    assert code == 0, err
    assert "method: grid\n" in out and "run_cap: 6\n" in out and "goal: maximize" in out
    assert "each point of the grid runs once, not num_samples=2 times" in err


DISTRIBUTIONS = """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    space = {
        "lr": FloatDistribution(1e-4, 1e-1, log=True),
        "n": IntDistribution(2, 10, step=2),
        "kind": CategoricalDistribution(["a", None, True]),
    }
"""


def test_optuna_distributions_are_converted(podium: Podium, tmp_path: Path) -> None:
    more = ("--metric", "loss", "--goal", "minimize", "--function", "train:objective")
    code, out, err = podium("sweep", "convert", _file(tmp_path, DISTRIBUTIONS), *more)
    assert code == 0, err
    (tmp_path / "out.yaml").write_text(out)
    parameters = read_spec_file(tmp_path / "out.yaml")[1]["parameters"]
    assert parameters == {
        "lr": {"min": 1e-4, "max": 0.1, "log": True},
        "n": {"min": 2, "max": 10, "step": 2},
        "kind": {"values": ["a", None, True]},
    }


def test_optuna_distributions_in_json_are_converted(podium: Podium, tmp_path: Path) -> None:
    attributes = {"low": 1, "high": 9, "log": False, "step": 2}
    written = {"name": "IntDistribution", "attributes": attributes}
    file = tmp_path / "space.json"
    file.write_text(json.dumps({"n": written, "m": json.dumps(written)}))
    more = ("--metric", "loss", "--goal", "minimize", "--function", "train:objective")
    code, out, err = podium("sweep", "convert", file, *more)
    assert code == 0, err
    assert out.count("{min: 1, max: 9, step: 2}") == 2


GUARDED = """
    from ray import tune
    if __name__ == "__main__":
        space = {"lr": tune.uniform(0, 1)}
"""


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        (GUARDED, (), '`if __name__ == "__main__":` (line 3) only runs for a Tuner'),
        (DISTRIBUTIONS, ("--function", "a:b"), "add --metric NAME --goal minimize (or maximize)"),
        pytest.param(
            DISTRIBUTIONS, ("--metric", "m", "--goal", "minimize"), "add --function train:NAME", marks=pytest.mark.slow
        ),
        pytest.param(
            DISTRIBUTIONS + "    other = dict(space)\n",
            (),
            "has several search spaces: space, other; name one: train.py:space",
            marks=pytest.mark.slow,
        ),
        ("import nowhere_to_be\n", (), "imports nowhere_to_be, which is not installed here"),
        ("x = 1\n1 / 0\n", (), "train.py:2: cannot import the script: ZeroDivisionError"),
    ],
)
def test_missing_input_is_reported(
    podium: Podium, tmp_path: Path, text: str, more: tuple[str, ...], words: str
) -> None:
    code, out, err = podium("sweep", "convert", _file(tmp_path, text), *more)
    assert (code, out) == (2, "")
    assert words in err


def test_script_may_have_the_name_of_a_podium_package(podium: Podium, tmp_path: Path) -> None:
    more = ("--metric", "loss", "--goal", "minimize", "--function", "train:objective")
    code, out, err = podium("sweep", "convert", _file(tmp_path, DISTRIBUTIONS, "sweep.py"), *more)
    assert code == 0 and "name: sweep\n" in out, err
