"""Reading arbitrary sweep files gives a sweep or a list of problems, and raises no other exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from podium.sweep.specfile.spec_file import read_sweep_file
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import document

SUFFIXES = st.sampled_from([".yaml", ".json", ".toml"])
PIECES = st.sampled_from(
    ["name", "a", ":", ": ", "\n", " ", "  ", "\t", "- ", "[", "]", "{", "}", ",", "=", "'", '"', '"""', "#", "&a ",
     "*a", "<<", "!!set", "|", ">", "---\n", "...", "?", "1", "1e-4", ".inf", "nan", "null", "2020-99-99", "\\", "[[",
     ".", "%",
     "é", "\r\n", "\x85", "\u2028", "true", "0x1", "program", "parameters", "metric"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["min", "max"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "program",
    "command",
    "method",
    "metric",
    "metrics",
    "parameters",
    "early_terminate",
    "run_cap",
    "project",
    "name",
]
PARAMETER = st.dictionaries(
    st.sampled_from(["value", "values", "min", "max", "distribution", "mu", "q", "parameters", "probabilities"]),
    VALUES | st.sampled_from(["normal", "q_uniform", "log_uniform", "beta", "grid", "hyperband"]),
    max_size=4,
)
FOLDER_SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def _read(file: Path) -> None:
    try:
        read_sweep_file(file)
    except InvalidSpecError as error:
        assert error.problems and all(problem.message for problem in error.problems)
        assert str(file) in str(error)


@FOLDER_SHARED
@given(SUFFIXES, TEXTS | st.text(max_size=40))
@example(".yaml", "!!set")
def test_arbitrary_text_gives_sweep_or_problems(tmp_path: Path, suffix: str, text: str) -> None:
    file = tmp_path / f"sweep{suffix}"
    file.write_bytes(text.encode(errors="replace"))
    _read(file)


@FOLDER_SHARED
@given(SUFFIXES, st.binary(max_size=40))
def test_arbitrary_bytes_give_sweep_or_problems(tmp_path: Path, suffix: str, content: bytes) -> None:
    file = tmp_path / f"sweep{suffix}"
    file.write_bytes(content)
    _read(file)


@FOLDER_SHARED
@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6),
    st.dictionaries(st.text(max_size=3), PARAMETER, max_size=2),
)
def test_arbitrary_wandb_document_gives_sweep_or_problems(
    tmp_path: Path, plain: dict[str, Any], parameters: dict[str, Any]
) -> None:
    file = tmp_path / "sweep.json"
    theirs = {"program": "train.py", "metric": {"name": "a"}, "metrics": {}, "parameters": parameters, **plain}
    file.write_text(json.dumps(theirs))
    _read(file)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@FOLDER_SHARED
@given(key=st.sampled_from(sorted(document())), value=VALUES)
def test_arbitrary_value_of_a_key_gives_sweep_or_problems(tmp_path: Path, suffix: str, key: str, value: Any) -> None:
    file = tmp_path / f"sweep{suffix}"
    file.write_text(json.dumps({**document(), key: value}))
    _read(file)
