"""Hints for keys of Optuna, Ray Tune or W&B in a sweep file, and for values in place of blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from podium.sweep.spec import names_in_other_tools
from podium.sweep.spec.pydantic_errors import known_keys
from podium.sweep.spec.search_method_registry import Method
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.spec.wandb_distributions import Name
from podium.sweep.specfile.document_parser import read_document
from podium.sweep.values.errors import InvalidSpecError

BASE: dict[str, Any] = {
    "name": "n",
    "metric": {"name": "m", "goal": "maximize"},
    "parameters": {"lr": {"min": 0.1, "max": 1.0}},
    "program": {"function": "train:objective"},
}


def _x(block: Any) -> dict[str, Any]:
    return {"parameters": {"x": block}}


HINTS = [
    ({"n_trials": 3}, "n_trials: unknown key 'n_trials'; did you mean 'run_cap'?"),
    ({"num_samples": 3}, "did you mean 'run_cap'?"),
    ({"direction": "maximize"}, "direction: unknown key 'direction'; did you mean 'metric.goal'?"),
    ({"sampler": "tpe"}, "did you mean 'method'?"),
    ({"pruner": "median"}, "did you mean 'early_terminate'?"),
    ({"objective": "train:objective"}, "for a function write program: {function: 'train:objective'}"),
    (_x({"low": 1, "max": 2}), "parameters.x.low: unknown key 'low'; did you mean 'min'?"),
    (_x({"choices": [1]}), "did you mean 'values'?"),
    (_x({"distribution": "loguniform", "min": 1e-4, "max": 0.1}), "did you mean 'log_uniform_values'?"),
    ({"resources": {"device": "cuda"}}, "did you mean 'gpu'?"),
    ({"metric": {"name": "m", "goal": "max"}}, "did you mean 'maximize'?"),
    ({"metric": {"name": "m", "goal": "min"}}, "did you mean 'minimize'?"),
    ({"metric": {"name": "m", "mode": "max"}}, "did you mean 'goal'?"),
    ({"ensemble": {"K": 3}}, "ensemble.K: unknown key 'K'; did you mean 'k'?"),
    (
        {"validation": {"split": 0.8}},
        "validation.split: must be a list of four fractions, got 0.8; for example, [0.7, 0.1, 0.1, 0.1]",
    ),
    (
        {"validation": {"split": [0.8, 0.1, 0.1]}},
        "validation.split: the fourth fraction, test, is missing; for example",
    ),
    (_x([8, 16]), "parameters.x: must be a mapping, got [8, 16]; write {values: [8, 16]}"),
    (_x(8), "write {value: 8}"),
    ({"parameters": [1]}, "write {lr: {min: 1e-4, max: 0.1, log: true}}"),
    ({"budget": {"plateau": 20}}, "budget.plateau: must be a mapping, got 20; write {trials: 20}"),
    ({"metric": "acc"}, "metric: must be a mapping, got 'acc'; write {name: acc, goal: maximize} (or goal: minimize)"),
    ({"early_terminate": "asha"}, "write {type: asha}"),
    ({"ensemble": 3}, "write {k: 3}"),
    ({"program": {"model": "mlp", "data": "digits"}}, "write {name: digits}"),
    ({"program": {"function": "a:b", "data": "rows.csv"}}, "write {file: rows.csv}"),
    ({"program": {"script": "a.py", "metrics": "acc"}}, "write {acc: auto}"),
    ({"validation": [0.6, 0.2, 0.1, 0.1]}, "write {split: [0.6, 0.2, 0.1, 0.1]}"),
]


@pytest.mark.parametrize(("changes", "words"), HINTS, ids=lambda given: str(given)[:40])
def test_synonym_gets_hint_with_replacement(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec({**BASE, **changes})
    assert words in str(caught.value)


@pytest.mark.parametrize("place", [(), *((block,) for block in names_in_other_tools.BLOCK_KEYS)])
def test_every_hint_is_a_key_and_no_key_is_a_synonym(place: tuple[str, ...]) -> None:
    """A hint for a key that does not exist would mislead users."""
    table = names_in_other_tools.BLOCK_KEYS[place[0]] if place else names_in_other_tools.TOP_LEVEL_KEYS
    inner = [*place, "x"] if place and place[0] in ("parameters", "metrics") else list(place)
    for ours, theirs in table.items():
        *path, key = ours.split(".")
        assert key in known_keys(SweepSpec, [*inner, *path]), ours
        assert not set(theirs.split()) & set(known_keys(SweepSpec, inner)), theirs


def test_hint_values_are_choices_of_sweep_file() -> None:
    choices = {*get_args(Name), "maximize", "minimize", "gpu", "asha", "median", "hyperband", "wilcoxon"}
    assert set(names_in_other_tools.VALUES) <= choices | set(get_args(Method))


def test_line_without_colon_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("name: a\nseed 7\nrun_cap: 3\n")
    with pytest.raises(InvalidSpecError) as caught:
        read_document(file)
    assert str(caught.value) == f"{file}:2: missing colon after the key in 'seed 7'; write `key: value`"
