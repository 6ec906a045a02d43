"""Environment variables and parameter file for `wandb.init` in a trial; trial process.

Like W&B's agent, Podium writes the parameters to the file that WANDB_SWEEP_PARAM_PATH names: in `wandb.config` they
override the program's defaults. The run is offline unless the user sets WANDB_MODE; its metrics are forwarded by
`podium.sweep.trial_process.wandb_hook`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.sweep.runtime.attempt_directory import WANDB_PARAMETERS
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.nested_parameters import flat_and_nested

HOOK_FOLDER = Path(__file__).with_name("wandb_hook")
MODE = "WANDB_MODE"
# Nobody reads an offline run: no console capture, no summary, no system statistics.
_OFFLINE = {
    MODE: "offline",
    "WANDB_QUIET": "true",
    "WANDB_CONSOLE": "off",
    "WANDB_DISABLE_GIT": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_X_DISABLE_STATS": "true",
}


def wandb_variables(params: Params, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of one trial, without those that `environment` sets; writes the parameter file to `folder`."""
    file = folder / WANDB_PARAMETERS
    file.write_text(parameter_file(params))
    wanted = {} if environment.get(MODE) else {**_OFFLINE, "WANDB_DIR": str(folder)}
    return {
        **{name: environment.get(name) or value for name, value in wanted.items()},
        "WANDB_SWEEP_PARAM_PATH": str(file),
    }


def with_hook(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with the folder of the hook first in PYTHONPATH, for every Python process of the script."""
    path = [str(HOOK_FOLDER), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(path)}


def parameter_file(params: Params) -> str:
    """The parameters as W&B's agent writes them: YAML with `name: {value: …}`.

    A nested parameter is written both by its dotted name, `optimizer.lr`, and as `lr` in a mapping `optimizer`, since a
    program may read either from `wandb.config`.
    """
    lines = ["wandb_version: 1"]
    for name, value in flat_and_nested(params).items():
        lines += [f"{_quoted(name)}:", f"  value: {_yaml(value)}"]
    return "\n".join(lines) + "\n"


def _yaml(value: Scalar | dict[str, Any]) -> str:
    """A value in YAML's flow style. In YAML 1.1, a number with an exponent needs a decimal point."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(name)}: {_yaml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, str):
        return _quoted(value)
    text = json.dumps(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def _quoted(text: str) -> str:
    """In double quotes, with YAML's escapes for characters other than printable ASCII."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'
