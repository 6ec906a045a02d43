"""The `ensemble:` block of a sweep file: valid options, and errors with key and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.ensemble.values.ensemble_spec import EnsembleOptions, Rule, Select
from podium.sweep.spec.sweep_spec import parse_spec, spec_from_json
from podium.sweep.specfile.spec_file import read_spec_file
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import builtin_document, document


def test_ensemble_block_survives_json_round_trip() -> None:
    parsed = parse_spec(builtin_document(ensemble={"k": 2, "select": "greedy", "combine": "weighted", "quorum": 1}))
    assert parsed.ensemble == EnsembleOptions(k=2, select=Select.GREEDY, combine=Rule.WEIGHTED, quorum=1)
    assert spec_from_json(parsed.to_json()) == parsed


def test_empty_mapping_is_a_block_of_defaults() -> None:
    parsed = parse_spec(builtin_document(ensemble={}))
    assert parsed.ensemble == EnsembleOptions()
    assert spec_from_json(parsed.to_json()).ensemble == EnsembleOptions()


def test_missing_block_is_none() -> None:
    parsed = parse_spec(builtin_document())
    assert parsed.ensemble is None
    assert "ensemble" not in parsed.to_json()


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown key": ({"kk": 3}, "ensemble.kk", "unknown key 'kk'; did you mean 'k'?"),
    "an unknown selection": (
        {"select": "best"},
        "ensemble.select",
        "must be one of top_k, greedy, diverse, explicit; got 'best'",
    ),
    "no k": ({"k": 0}, "ensemble.k", "must be at least 1, got 0"),
    "k above run_cap": ({"k": 5}, "ensemble.k", "must not exceed run_cap (4), got 5"),
    "a quorum above k": ({"k": 2, "quorum": 3}, "ensemble.quorum", "3 exceeds the number of members, k: 2"),
    "fitting on test": ({"fit_on": "test"}, "ensemble.fit_on", "use calibration"),
    "fitting on the selection split": (
        {"fit_on": "validation"},
        "ensemble.fit_on",
        "use calibration, or set force: true",
    ),
    "explicit trials before the sweep": ({"select": "explicit"}, "ensemble.select", "must be top_k, greedy or diverse"),
}


@pytest.mark.parametrize(("block", "key", "words"), WRONG.values(), ids=WRONG)
def test_invalid_ensemble_block_is_rejected_at_its_key(block: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(builtin_document(ensemble=block))
    (problem,) = caught.value.problems
    assert problem.key == key
    assert words in problem.message


def test_k_above_kept_models_is_rejected() -> None:
    with pytest.raises(InvalidSpecError, match=r"must be at least ensemble.k .3., got 2") as caught:
        parse_spec(builtin_document(ensemble={"k": 3}, keep={"models": 2}))
    assert caught.value.problems[0].key == "keep.models"


def test_null_block_is_rejected() -> None:
    with pytest.raises(InvalidSpecError, match="ensemble: must not be empty"):
        parse_spec({**builtin_document(), "ensemble": None})


@pytest.mark.parametrize("block", [{"select": "greedy"}, {"combine": "stacking"}, {"calibrate": True}], ids=str)
def test_function_may_select_by_saved_predictions(block: dict[str, Any]) -> None:
    assert parse_spec(document(ensemble=block)).ensemble == EnsembleOptions(**block)


def test_ensemble_problem_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "name: small\nmetric: {name: val_accuracy, goal: maximize}\nparameters:\n  lr: {min: 0.1, max: 0.2}\n"
        "program: {model: mlp, data: {name: digits}}\nensemble:\n  k: 3\n  quorum: 7\n"
    )
    with pytest.raises(
        InvalidSpecError, match=r"sweep\.yaml:8: ensemble\.quorum: 7 exceeds the number of members, k: 3"
    ):
        read_spec_file(file)
