"""`podium sweep validate`: the space, samples, code, data and devices of a file; no user code runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from podium.api.client.client import Client
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile.spec_file import read_spec_file
from tests.commands import Podium
from tests.service_rig import ServiceRig

OWN = """\
name: own
method: grid
seed: 3
metric: {name: score, goal: minimize}
parameters:
  width: {values: [8, 16]}
  act:   {values: [relu, tanh]}
  slope: {min: 0.0, max: 0.5, step: 0.25, when: {act: relu}}
program: {function: train:objective, code: code}
resources: {max_concurrent: 2}
"""
TRAIN = "raise RuntimeError('nobody imports this')\ndef objective(trial):\n    return 0.0\n"
BUILT_IN = """\
name: small
metric: {name: val_accuracy, goal: maximize}
parameters: {lr: {min: 1e-4, max: 0.1, log: true}}
program: {model: mlp, data: {name: digits}}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A sweep file whose code is in a folder next to it."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(TRAIN)
    file = tmp_path / "sweep.yaml"
    file.write_text(OWN)
    return file


def _validate(podium: Podium, file: Path, *more: str) -> tuple[int, str, str]:
    return podium("sweep", "validate", file, "--data-dir", file.parent / "data", "--devices", "cpu:3", *more)


def test_space_samples_code_and_devices_are_shown(podium: Podium, own: Path) -> None:
    code, out, err = _validate(podium, own)
    assert (code, err) == (0, "")
    for words in (
        f"{own}: valid",
        "own: grid, seed 3, for score (minimize); up to 60 trials of 8 configurations",
        "step 0.25  act = relu",
        f"objective in {own.parent / 'code' / 'train.py'}, line 2",
        "3 cpu slots on this machine; no service is running (",
        "2 trials at a time",
    ):
        assert words in out
    assert out.count("width=") == 3


def test_grid_larger_than_run_cap_is_noted(podium: Podium, own: Path) -> None:
    own.write_text(OWN.replace("width: {values: [8, 16]}", "width: {min: 1, max: 65536}"))
    code, out, _ = _validate(podium, own)
    assert code == 0
    assert "note: run_cap: the grid has 262,144 points, but the sweep ends after 60 trials" in out.replace("\n", " ")
    assert "set run_cap: 262144 for all" in out.replace("\n", " ")


def test_json_has_the_same_content(podium: Podium, own: Path) -> None:
    code, out, _ = _validate(podium, own, "--json")
    about = json.loads(out)
    assert (code, about["valid"], about["grid_size"], about["devices"]["at_once"]) == (0, True, 8, 2)
    assert [parameter["name"] for parameter in about["space"]] == ["width", "act", "slope"]
    spec = parse_spec({**read_spec_file(own)[1], "enqueue": about["samples"]})  # the samples are in the space
    assert all(("slope" in params) == (params["act"] == "relu") for params in spec.enqueue)
    assert json.loads(_validate(podium, own, "--json")[1]) == about  # determined by the seed


def test_devices_of_a_running_service_are_shown(
    podium: Podium, service: ServiceRig, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.device()
    monkeypatch.setattr(Client, "of", lambda _: _client(service))
    assert "1 cpu slot of the service at http://testserver: 1 trial at a time" in _validate(podium, own)[1]


def test_missing_devices_are_reported(podium: Podium, own: Path) -> None:
    own.write_text(OWN.replace("resources: {max", "resources: {device: gpu, max"))
    assert "no trial would start" in _validate(podium, own)[1]


def test_node_is_compared_with_the_devices(
    podium: Podium, service: ServiceRig, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text(OWN.replace("resources: {max", "resources: {node: b, max"))
    assert "none for resources.device: auto, resources.node: b; no trial would start" in _validate(podium, own)[1]
    service.device("cpu-0")
    service.device("b:cpu-0")
    monkeypatch.setattr(Client, "of", lambda _: _client(service))
    assert "2 cpu slots of the service at http://testserver: 1 trial at a time on b" in _validate(podium, own)[1]


def test_space_defined_by_the_program_is_not_shown(podium: Podium, own: Path) -> None:
    lines = OWN.replace("method: grid\n", "").splitlines(keepends=True)
    own.write_text("".join(line for line in lines if not line.startswith(("parameters", "  "))))
    code, out, _ = _validate(podium, own)
    assert (code, "trials of parameters that the program suggests" in out, "sample" in out) == (0, True, False)


def test_data_file_next_to_the_sweep_file_is_described(podium: Podium, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n1,2,pear\n2,3,fig\n")
    file = tmp_path / "s.yaml"
    file.write_text(BUILT_IN.replace("{name: digits}", "{file: rows.csv, target: y}"))
    code, out, _ = _validate(podium, file)
    assert code == 0 and "rows.csv: 2 columns, classification (inferred: 'y' has strings)" in out.replace("\n", " ")
    file.write_text(BUILT_IN.replace("{name: digits}", "{file: rows.csv, target: x}"))
    code, _, err = _validate(podium, file)
    assert (code, ":4: program.data.target: " in err, "has no column 'x'" in err) == (2, True, True), err


def test_code_that_cannot_be_uploaded_is_refused(podium: Podium, own: Path) -> None:
    assert "1 kB to upload" in _validate(podium, own)[1]
    (own.parent / "code" / "podium.py").write_text("")
    code, _, err = _validate(podium, own)
    assert (code, f"{own}:9: program.code: 'podium.py'" in err) == (2, True)


def test_built_in_data_set_is_described(podium: Podium, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(BUILT_IN)
    out = _validate(podium, file)[1]
    assert "data: digits: 1,797 rows, images of 8 x 8, 1 channel, classification" in out
    assert "a continuous space" in out


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "words"),
    [
        ("code: code", "code: cod", 9, "program.code", "does not exist"),
        (
            "train:objective",
            "train:objectiv",
            9,
            "program.function",
            "does not define 'objectiv'; did you mean 'objective'?",
        ),
        ("train:objective", "trian:objective", 9, "program.function", "no module 'trian' in"),
        ("seed: 3", "sed: 3", 3, "sed", "did you mean 'seed'?"),
    ],
)
def test_invalid_file_exits_2_with_the_line(
    podium: Podium, own: Path, old: str, new: str, line: int, key: str, words: str
) -> None:
    own.write_text(OWN.replace(old, new))
    code, out, err = _validate(podium, own)
    assert (code, out) == (2, "")
    assert f"{own}:{line}: {key}: " in err and words in err
    code, out, err = _validate(podium, own, "--json")
    problem = json.loads(out)["problems"][0]
    assert (code, json.loads(out)["valid"], problem["line"], problem["key"], err) == (2, False, line, key, "")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("from other import objective\n", "objective in"),
        ("from other import *\n", "may be imported by `import *`, not checked"),
        ("try:\n    import x\nexcept ImportError:\n    def objective(t): ...\n", "line 4"),
        ("objective = make()\n", "line 1"),
        ("class Objective:\n    def __call__(self, trial): ...\nobjective = Objective()\n", "line 3"),
        ("class Objective:\n    __call__ = run\nobjective = Objective()\n", "line 3"),
        ("class Objective(Base): ...\nobjective = Objective()\n", "line 2"),
        ("import functools\ndef run(trial, data): ...\nobjective = functools.partial(run, data=1)\n", "line 3"),
        ("objective = Objective().method\n", "line 1"),
    ],
)
def test_function_is_found_without_running_the_code(podium: Podium, own: Path, source: str, words: str) -> None:
    (own.parent / "code" / "train.py").write_text(source)
    assert words in _validate(podium, own)[1]


def test_syntax_error_is_refused_with_its_line(podium: Podium, own: Path) -> None:
    (own.parent / "code" / "train.py").write_text("x = 1\ndef objective(:\n")
    code, _, err = _validate(podium, own)
    assert (code, "train.py:2: invalid syntax" in err) == (2, True)


def test_installed_module_is_not_checked(podium: Podium, own: Path) -> None:
    own.write_text(OWN.replace("train:objective", "json:dumps"))
    assert "json is an installed package, not in" in _validate(podium, own)[1]


def test_paths_are_relative_to_the_file(podium: Podium, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent.parent)
    assert podium("sweep", "validate", own.relative_to(own.parent.parent), "--devices", "cpu:1")[0] == 0


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (
            "def objective(trial, extra): ...\n",
            "objective has required parameters besides the first: extra; give them defaults",
        ),
        ("def objective(trial, *, more): ...\n", "objective has required parameters besides the first: more"),
        (
            "def objective(): ...\n",
            "objective must take one argument; write `def objective(trial):` or `def objective(config):`",
        ),
        ("class objective(tune.Trainable): ...\n", "objective is a tune.Trainable, but Ray Tune's class API is not"),
        ("class objective: ...\n", "objective is a class; write `the_objective = objective(…)` below it"),
        (
            "class Objective:\n    def __call__(self, trial, data): ...\nobjective = Objective()\n",
            "objective has required parameters besides the first: data",
        ),
        (
            "class Objective:\n    def __call__(self): ...\nobjective = Objective()\n",
            "objective must take one argument; write `def __call__(self, trial):`",
        ),
        (
            "class Objective:\n    x = 1\nobjective = Objective()\n",
            "objective is not callable: Objective does not define `__call__(self, trial)`",
        ),
    ],
)
def test_function_that_cannot_be_called_is_refused(podium: Podium, own: Path, train: str, words: str) -> None:
    (own.parent / "code" / "train.py").write_text(train)
    code, _, err = _validate(podium, own)
    assert (code, f"{own}:9: program.function: " in err, words in err) == (2, True, True), err


@pytest.mark.parametrize(
    "train",
    [
        "def objective(trial, extra=1, *rest, more=2, **others): ...\n",
        "@given(extra=1)\ndef objective(trial, extra): ...\n",
        "def objective(*args): ...\n",
        "import wandb\ndef objective(): ...\n",
    ],
)
def test_function_that_can_be_called_is_accepted(podium: Podium, own: Path, train: str) -> None:
    (own.parent / "code" / "train.py").write_text(train)
    assert _validate(podium, own)[0] == 0


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ("def objective(trial): ...\n", "train.py does not define 'constraints'; known: objective"),
        ("def objective(trial): ...\ndef constraints(): ...\n", "constraints must take one argument"),
    ],
)
def test_constraints_function_is_checked_like_the_objective(podium: Podium, own: Path, train: str, words: str) -> None:
    own.write_text(OWN.replace("train:objective", "train:objective, constraints: train:constraints"))
    (own.parent / "code" / "train.py").write_text(train)
    code, _, err = _validate(podium, own)
    assert (code, f"{own}:9: program.constraints: " in err, words in err) == (2, True, True), err
    (own.parent / "code" / "train.py").write_text("def objective(t): ...\ndef constraints(t): ...\n")
    assert _validate(podium, own)[0] == 0


def test_preloaded_package_must_be_installed(podium: Podium, own: Path) -> None:
    own.write_text(OWN.replace("code: code}", "code: code, preload: [numpy, nowhere_to_be]}"))
    code, _, err = _validate(podium, own)
    assert (code, f"{own}:9: program.preload.1: package 'nowhere_to_be' is not installed" in err) == (2, True), err


def test_budget_retention_and_warm_start_are_shown(podium: Podium, own: Path) -> None:
    more = "budget: {wall_s: 3600, plateau: {trials: 20}}\nkeep: {checkpoints: best, models: 4}\nwarm_start: [3, 4]\n"
    own.write_text(OWN.replace("method: grid", "method: tpe") + more)
    out = _validate(podium, own)[1]
    for words in (
        "budget: ends early at wall_s 3,600 or 20 trials without improvement",
        "keep: checkpoints: best, the weights of the 4 best trials",
        "warm_start: from the trials of sweep 3, 4",
        "note: warm_start: not checked, since no service runs; it is checked on submit",
    ):
        assert words in out, out


def test_warm_start_is_checked_with_a_running_service(
    podium: Podium, service: ServiceRig, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "of", lambda _: _client(service))
    other = _client(service).submit({**parse_document(BUILT_IN), "name": "earlier"})["id"]
    own.write_text(f"{OWN.replace('method: grid', 'method: tpe')}warm_start: [{other}, 77]\n")
    code, _, err = _validate(podium, own)
    assert code == 2 and "sweep 1 has other goals (maximize val_accuracy) than this sweep (minimize score)" in err
    assert "warm_start.1: " in err and "77" in err


def _client(service: ServiceRig) -> Client:
    return Client("http://testserver", "token", http=service.client())


def parse_document(text: str) -> dict[str, Any]:
    document = YAML(typ="safe").load(text)
    assert isinstance(document, dict)
    return document


SCRIPT = """\
name: script
metric: {name: acc, goal: maximize}
parameters: {nesterov: {values: [true, false]}}
program: {script: train.py, command: [python, "${program}", "${args}"], metrics: {accuracy: 'accuracy=(.*)'}}
"""


def test_earlier_sweeps_of_a_chain_are_noted(
    podium: Podium, service: ServiceRig, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "after: [coarse, 1]\nfix_from: {sweep: twice, parameters: [slope]}\n"
    own.write_text(f"{OWN}{more}")
    code, out, _ = podium("sweep", "validate", own)
    assert code == 0
    assert "note: after, fix_from: not checked, since no service runs; they are checked on submit" in out
    assert "after: starts when sweeps 'coarse', 1 have finished" in out
    assert "fix_from: slope of the best trial of sweep twice" in out
    monkeypatch.setattr(Client, "of", lambda _: _client(service))
    for _ in range(2):
        service.sweep(name="twice")
    code, out, _ = podium("sweep", "validate", own)
    assert code == 0
    assert "after.0: the service has no sweep 'coarse'; submit it before, or both with --chain" in out
    assert "fix_from.sweep: 2 sweeps are named 'twice'; write the id of one" in out
    assert "after.1" not in out


def test_notes_warn_of_valid_settings_that_may_not_work(podium: Podium, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCRIPT)
    (tmp_path / "train.py").write_text("print('accuracy=1')\n")
    code, out, _ = _validate(podium, file)
    assert code == 0
    assert "note: parameters.nesterov: ${args} passes --nesterov=True" in out
    assert "for 'acc' (did you mean 'accuracy'?), and the code does not use PODIUM_METRICS or wandb" in out
    file.write_text(SCRIPT.replace('"${args}"', '"${args_no_boolean_flags}"'))
    (tmp_path / "train.py").write_text("open(os.environ['PODIUM_METRICS'], 'a')\n")
    assert "note: " not in _validate(podium, file)[1]


def test_unset_environment_variable_is_noted(podium: Podium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCRIPT.replace('"${args}"', '"${args_no_boolean_flags}", "${envvar:DATA}", "${envvar:TMPDIR}"'))
    (tmp_path / "train.py").write_text("import wandb\n")
    monkeypatch.delenv("DATA", raising=False)
    (note,) = [line for line in _validate(podium, file)[1].splitlines() if "'DATA'" in line]
    assert note.startswith("note: program.command.3: environment variable 'DATA' is not set in the service")
    assert note.endswith("(checked in this command's environment; on submit, the service's environment counts)")
    monkeypatch.setenv("DATA", "/data")
    assert "note: " not in _validate(podium, file)[1]


def test_method_without_parameters_to_search_is_noted(podium: Podium, own: Path) -> None:
    lines = OWN.replace("method: grid", "method: gp").splitlines(keepends=True)
    own.write_text("".join(line for line in lines if not line.startswith(("parameters", "  "))))
    code, out, _ = _validate(podium, own)
    assert code == 0 and "note: method: gp applies only to `parameters`, which is empty" in out
