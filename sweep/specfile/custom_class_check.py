"""Checks custom sampler and pruner classes of a sweep in a subprocess that imports Optuna; CLI and api process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.sweep.spec.custom_optuna_classes import SamplerClass
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.custom_class_check_cache import CustomClassCheckCache
from podium.sweep.values.errors import InvalidSpecError, Problem

TIMEOUT_S = 120.0  # for importing and constructing the classes
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def check_classes(spec: SweepSpec, code: Path | None = None, usable: CustomClassCheckCache | None = None) -> None:
    """Raises `InvalidSpecError` for a class that cannot be used.

    Args:
        code: The folder of the program's code.
        usable: Checks that passed before, and are not repeated.
    """
    found = list(_named(spec))
    if not found:
        return
    wanted = json.dumps([about for _, about in found], sort_keys=True)
    if usable is not None and wanted in usable:
        return
    answers = _tried(wanted)
    if problems := [
        Problem(where, words + _in_code(about["class"], code))
        for (where, about), words in zip(found, answers, strict=True)
        if words is not None
    ]:
        raise InvalidSpecError(problems)
    if usable is not None:
        usable.add(wanted)


def _named(spec: SweepSpec) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Each class with its key."""
    if isinstance(spec.method, SamplerClass):
        yield ("method", "sampler"), {"kind": "sampler", "class": spec.method.sampler, "args": spec.method.args}
    early = spec.early_terminate
    for where, rule in ((("early_terminate",), early), (("early_terminate", "wrap"), early.wrap)):
        if rule is not None and rule.pruner is not None:
            yield (*where, "pruner"), {"kind": "pruner", "class": rule.pruner, "args": rule.args}


def _tried(wanted: str) -> list[str | None]:
    command = [sys.executable, "-P", "-m", "podium.sweep.search.custom_class_check_process", str(os.getpid())]
    try:
        done = subprocess.run(
            command, input=wanted, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            env={**os.environ, **_ONE_THREAD},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _all(wanted, f"could not be imported and constructed within {TIMEOUT_S:g} s")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return _all(wanted, f"crashed the process that checks it (status {done.returncode}): {last}")
    answers: list[str | None] = json.loads(done.stdout)
    return answers


def _all(wanted: str, words: str) -> list[str | None]:
    return [f"{about['class']} {words}" for about in json.loads(wanted)]


def _in_code(reference: str, code: Path | None) -> str:
    """An explanation for a module in the code of trials, which the service does not import."""
    top = reference.partition(":")[0].partition(".")[0]
    if code is None or not (code.joinpath(f"{top}.py").is_file() or code.joinpath(top).is_dir()):
        return ""
    return (
        f". {top} is in the sweep's code, which only trials import; samplers and pruners must be in installed packages"
    )
