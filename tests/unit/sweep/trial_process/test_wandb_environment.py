"""The parameter file for `wandb.init`, and the variables of an offline run."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.trial_process.wandb_environment import HOOK_FOLDER, parameter_file, wandb_variables, with_hook
from podium.sweep.values.attempt_assignment import Params

NAMES = st.text(min_size=1, max_size=20).filter(lambda name: "." not in name)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.dictionaries(NAMES, VALUES))
def test_yaml_parses_to_written_values(params: Params) -> None:
    read = yaml.safe_load(parameter_file(params))
    assert read.pop("wandb_version") == 1 or "wandb_version" in params
    assert {name: entry["value"] for name, entry in read.items()} == params


def test_dotted_name_is_written_flat_and_nested() -> None:
    read = yaml.safe_load(parameter_file({"optimizer.lr": 1e-05, "optimizer.name": "sgd", "a": 1, "a.b": 2, ".c": 3}))
    values = {name: entry["value"] for name, entry in read.items() if name != "wandb_version"}
    assert values == {
        "optimizer.lr": 1e-05,
        "optimizer.name": "sgd",
        "optimizer": {"lr": 1e-05, "name": "sgd"},
        "a": 1,
        "a.b": 2,
        ".c": 3,
    }


def test_run_is_offline_unless_user_sets_mode(tmp_path: Path) -> None:
    file = str(tmp_path / "wandb-parameters.yaml")
    ours = wandb_variables({}, tmp_path, {"WANDB_QUIET": "false"})
    assert (ours["WANDB_MODE"], ours["WANDB_DIR"], ours["WANDB_QUIET"]) == ("offline", str(tmp_path), "false")
    assert wandb_variables({}, tmp_path, {"WANDB_MODE": "online"}) == {"WANDB_SWEEP_PARAM_PATH": file}


def test_hook_is_first_on_the_path() -> None:
    assert with_hook({"A": "1"}) == {"A": "1", "PYTHONPATH": str(HOOK_FOLDER)}
    assert with_hook({"PYTHONPATH": "/mine"})["PYTHONPATH"] == os.pathsep.join([str(HOOK_FOLDER), "/mine"])
