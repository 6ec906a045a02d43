"""Conversion of W&B sweep files: parameters, hyperband, macros, nesting; errors have the lines of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.sweep.specfile.document_parser import read_document
from podium.sweep.specfile.spec_file import SweepFile, read_sweep_file
from podium.sweep.specfile.wandb_file import ConvertedFile, convert, is_wandb
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import InvalidSpecError

FILES = Path(__file__).parent / "wandb_files"


def _converted(name: str) -> ConvertedFile:
    return convert(read_document(FILES / name).plain, FILES / name)


def _read(tmp_path: Path, text: str, script: str = "PODIUM_METRICS") -> SweepFile:
    (tmp_path / "train.py").write_text(f"# {script}")
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    return read_sweep_file(file)


def _refused(tmp_path: Path, text: str, script: str = "PODIUM_METRICS") -> tuple[int | None, str, str]:
    with pytest.raises(InvalidSpecError) as caught:
        _read(tmp_path, text, script)
    problem = caught.value.problems[0]
    return problem.line, problem.key, problem.message


@pytest.mark.parametrize(
    ("plain", "is_theirs"),
    [
        ({"program": "train.py"}, True),
        ({"command": ["python", "train.py"]}, True),
        ({"project": "p", "parameters": {}}, True),
        ({"program": {"function": "train:objective"}}, False),
        ({"program": {"model": "mlp"}, "command": []}, False),
        ({"name": "x", "parameters": {}}, False),
    ],
    ids=str,
)
def test_wandb_file_is_recognized_by_its_program(plain: dict[str, Any], is_theirs: bool) -> None:
    assert is_wandb(plain) == is_theirs


def test_minimal_file_gets_defaults() -> None:
    found = _converted("minimal.yaml")
    assert found.document == {
        "name": "minimal",
        "method": "bayes",
        "metric": {"name": "val_loss", "goal": "minimize"},
        "parameters": {"lr": {"min": 1e-4, "max": 0.1}},
        "program": {"script": "train.py", "code": ".", "metrics": {}},
    }
    assert [note.split(":")[0] for note in found.notes] == ["method", "run_cap", "metric"]


def test_dropped_keys_are_noted() -> None:
    found = _converted("every_kind.yaml")
    assert "entity" not in found.document
    assert (found.document["project"], found.document["description"]) == ("my-project", "of every kind")
    reported = [note.split(":")[0] for note in found.notes]
    assert reported[0] == "entity"
    assert "parameters.k_log_uniform: the bounds of log_uniform are exponents of e, as in W&B" in found.notes


def test_every_kind_of_parameter_is_read(samples_of_every_kind: list[Params]) -> None:
    kinds = {name: type(value) for name, value in samples_of_every_kind[0].items()}
    assert len(kinds) == 23
    assert kinds["f_whole"] is kinds["g_whole"] is int
    assert kinds["h_uniform"] is kinds["i_uniform"] is float


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("a_constant", 5, 5),
        ("g_whole", 1, 8),
        ("j_q_uniform", 0, 256),
        ("k_log_uniform", 9.9e-5, 0.11),
        ("l_log_uniform_values", 1e-4, 1e-1),
        ("n_q_log_uniform_values", 8, 256),
        ("o_inv_log_uniform", 9.9, 1.1e4),
        ("v_beta", 0, 1),
        ("w_q_beta", 0, 1),
    ],
)
def test_samples_are_in_range_of_distribution(
    samples_of_every_kind: list[Params], name: str, low: float, high: float
) -> None:
    values = [params[name] for params in samples_of_every_kind]
    assert all(isinstance(value, int | float) and low <= value <= high for value in values)


@pytest.fixture(scope="module")
def samples_of_every_kind() -> list[Params]:
    """The samples that `podium sweep validate` would show."""
    from podium.sweep.specfile.random_configurations import sample_configurations

    return sample_configurations(read_sweep_file(FILES / "every_kind.yaml").spec, 200)


def test_quantized_samples_are_multiples(samples_of_every_kind: list[Params]) -> None:
    for name, q in (("j_q_uniform", 32), ("m_q_log_uniform", 4), ("n_q_log_uniform_values", 8), ("s_q_normal", 5)):
        assert all(float(params[name] or 0) % q == 0 for params in samples_of_every_kind), name


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("hyperband_min_iter.yaml", {"type": "hyperband", "min_iter": 3}),
        ("hyperband_max_iter.yaml", {"type": "hyperband", "max_iter": 27, "s": 2, "eta": 3}),
    ],
)
def test_hyperband_block_is_kept(name: str, block: dict[str, Any]) -> None:
    assert _converted(name).document["early_terminate"] == block
    assert read_sweep_file(FILES / name).spec.early_terminate.type == "hyperband"


def test_grid_gets_run_cap_of_its_size() -> None:
    assert _converted("grid.yaml").document["run_cap"] == 12


@pytest.mark.parametrize(
    ("space", "run_cap"),
    [
        ("a: {min: 1, max: 300}, b: {min: 1, max: 300}", 90_000),
        ("a: {distribution: q_uniform, min: 0.0, max: 1.0, q: 0.25}, b: {values: [x, y]}", 10),
        ("a: {min: 1, max: 3000}, b: {min: 1, max: 3000}", 1_000_000),
    ],
)
def test_grid_above_ten_thousand_points_is_accepted(tmp_path: Path, space: str, run_cap: int) -> None:
    file = tmp_path / "sweep.yaml"
    (tmp_path / "train.py").write_text("print('val_loss=0.5')\n")
    metric = "metric: {name: val_loss, goal: minimize}\nmetrics: {val_loss: 'val_loss=([0-9.]+)'}"
    file.write_text(f"program: train.py\nmethod: grid\n{metric}\nparameters: {{{space}}}\n")
    read = read_sweep_file(file)
    assert (read.spec.method, read.spec.run_cap) == ("grid", run_cap)


def test_nested_parameters_have_dotted_names() -> None:
    found = _converted("nested.yaml")
    assert list(found.document["parameters"]) == ["optimizer.name", "optimizer.schedule.lr", "epochs"]
    assert "parameters: nested parameters have dotted names: optimizer.name, optimizer.schedule.lr" in found.notes


def test_every_wandb_macro_is_known() -> None:
    program = read_sweep_file(FILES / "macros.yaml").document["program"]
    assert program["command"][:4] == ["${env}", "${interpreter}", "-u", "${program}"]
    assert program["script"] == "train.py"


def test_podium_blocks_are_valid_in_wandb_file() -> None:
    spec = read_sweep_file(FILES / "printed.yaml").spec
    assert (spec.limits.trial_s, spec.seed) == (60, 3)


START = "program: train.py\nmethod: random\nmetric: {name: loss, goal: minimize}\nrun_cap: 5\n"


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("parameters:\n  lr: 0.1\n", 6, "parameters.lr", "for a constant write {value: 0.1}"),
        ("parameters:\n  lr: {min: 1, max: 0}\n", 6, "parameters.lr.min", "must not exceed max"),
        ("parameters:\n  lr: {minn: 1, max: 2}\n", 6, "parameters.lr.minn", "did you mean 'min'?"),
        ("parameters:\n  lr: {distribution: log_uniform, min: 1e-5, max: 0.1}\n", 6, "parameters.lr.min", "exponents"),
        (
            "parameters:\n  o:\n    parameters:\n      lr: {min: 3, max: 2}\n",
            8,
            "parameters.o.parameters.lr.min",
            "must not exceed",
        ),
        (
            "parameters:\n  o:\n    parameters:\n      lr: {value: 1}\n    value: 2\n",
            9,
            "parameters.o.value",
            "nested parameters",
        ),
        (
            "parameters:\n  a.b: {value: 1}\n  a: {parameters: {b: {value: 2}}}\n",
            7,
            "parameters.a.parameters.b",
            "duplicate",
        ),
        ("parameters: {lr: {value: 1}}\nearly_terminate: {type: hyperbend}\n", 6, "early_terminate.type", "hyperband"),
        ("parameters: {lr: {value: 1}}\nrun_kap: 3\n", 6, "run_kap", "did you mean 'run_cap'?"),
        ("parameters: {lr: {value: 1}}\ncommand: [python, '${progam}']\n", 6, "command.1", "progam"),
        ("parameters: {lr: {value: 1}}\ncommand: python train.py\n", 6, "command", "[python, train.py]"),
        (
            "parameters: {lr: {value: 1}}\nmetrics: [loss]\n",
            6,
            "metrics",
            "must be a mapping of metric names to patterns",
        ),
    ],
    ids=str,
)
def test_errors_are_at_keys_of_the_file(tmp_path: Path, text: str, line: int, key: str, words: str) -> None:
    found = _refused(tmp_path, START + text)
    assert found[:2] == (line, key)
    assert words in found[2]


def test_unreported_metric_is_rejected_with_fix(tmp_path: Path) -> None:
    text = START + "parameters: {lr: {value: 1}}\n"
    line, key, words = _refused(tmp_path, text, script="import wandb, and more about wandb.log")
    assert (line, key) == (3, "metric")
    assert "metrics: {loss: auto}" in words and "PODIUM_METRICS" in words and "metrics: {}" in words


def test_other_problems_are_reported_as_well(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        _read(tmp_path, START + "parameters: {lr: {min: 2, max: 1}}\nrun_kap: 1\n", script="no wandb")
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [
        (3, "metric"),
        (5, "parameters.lr.min"),
        (6, "run_kap"),
    ]


def test_proposed_pattern_is_accepted(tmp_path: Path) -> None:
    text = START + "parameters: {lr: {value: 1}}\nmetrics: {loss: auto}\n"
    assert _read(tmp_path, text, script="").document["program"]["metrics"] == {"loss": "auto"}


@pytest.mark.parametrize(
    "script",
    [
        "\nimport wandb",
        "\n    import os, wandb",
        "\nfrom wandb import init",
        "\nlogger = WandbLogger()",
        "\nArguments(report_to='wandb')",
    ],
)
def test_script_that_logs_to_wandb_needs_no_metrics(tmp_path: Path, script: str) -> None:
    found = _read(tmp_path, START + "parameters: {lr: {value: 1}}\n", script=script)
    assert found.document["program"]["metrics"] == {}
    assert any("is read from wandb.log in the script" in note for note in found.notes)


def test_env_is_kept(tmp_path: Path) -> None:
    text = START + "parameters: {lr: {value: 1}}\nenv: {MODE: fast, SEED: 1, RATE: 1e-3, DEBUG: true}\n"
    found = _read(tmp_path, text).document["program"]["env"]
    assert found == {"MODE": "fast", "SEED": "1", "RATE": "0.001", "DEBUG": "true"}
    text = START + "parameters: {lr: {value: 1}}\nenv: {A: [1]}\n"
    assert _refused(tmp_path, text)[:2] == (6, "env.A")


def test_launch_job_is_rejected_with_one_problem(tmp_path: Path) -> None:
    text = "job: me/project/job:latest\nmethod: bayess\nparameters: {lr: 3}\n"
    with pytest.raises(InvalidSpecError) as caught:
        _read(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == (
        1,
        "job",
    ) and "replace `job` by `program: train.py`" in problem.message


def test_conversion_and_spec_problems_are_reported_together(tmp_path: Path) -> None:
    text = "program: train:run\nmethod: bayess\nparameters:\n  lr: 3\n  width: {min: 5, max: 1}\nrun_kap: 3\n"
    with pytest.raises(InvalidSpecError) as caught:
        _read(tmp_path, text)
    reported = [(problem.line, problem.key, problem.message) for problem in caught.value.problems]
    assert [key for _, key, _ in reported] == [
        "method",
        "metric",
        "parameters.lr",
        "program",
        "parameters.width.min",
        "run_kap",
    ]
    assert "did you mean 'bayes'?" in reported[0][2]


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (
            "program: mlp\nmetric: {name: a}\nparameters: {lr: {value: 1}}\n",
            "program",
            "{model: mlp, data: {name: digits}}",
        ),
        (
            "program: train:run\nmetric: {name: a}\nparameters: {lr: {value: 1}}\n",
            "program",
            "{function: train:run, code: .}",
        ),
        (
            "program: train.py\nparameters: {lr: {value: 1}}\n",
            "metric",
            "for example, {name: val_loss, goal: minimize}",
        ),
        ("project: p\nmetric: {name: a}\nparameters: {lr: {value: 1}}\n", "program", "such as train.py"),
    ],
)
def test_missing_key_is_reported_with_example(tmp_path: Path, text: str, key: str, words: str) -> None:
    _, where, message = _refused(tmp_path, text)
    assert where == key
    assert words in message


def test_misspelt_metric_gets_hint(tmp_path: Path) -> None:
    text = "program: train.py\nmetric: {name: val_los, goal: minimize}\nparameters: {lr: {value: 1}}\n"
    text += "metrics: {val_loss: 'val_loss=(.*)'}\n"
    line, key, message = _refused(tmp_path, text, script="nothing")
    assert (line, key) == (2, "metric.name") and "did you mean 'val_loss'?" in message
