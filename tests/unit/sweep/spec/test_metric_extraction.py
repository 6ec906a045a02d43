"""Metrics in the output of a script, and in the file that it appends to."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.spec.metric_extraction import MAX_LINE, MetricExtractor, invalid_pattern_reason
from podium.sweep.spec.sweep_spec import parse_spec, spec_from_json
from podium.sweep.trial_process.script_metrics_file import MAX_JSON_LINE, JsonLines
from podium.sweep.trial_process.script_output_lines import LineSplitter
from podium.sweep.values.errors import BadReportError, InvalidSpecError
from tests.specs import document


def _found(patterns: dict[str, str], *lines: str) -> list[tuple[int, str, float]]:
    finder = MetricExtractor(patterns)
    return [found for line in lines for found in finder.extract(line)]


def test_values_are_numbered_without_explicit_step() -> None:
    assert _found({"loss": "loss ([0-9.]+)"}, "loss 0.5", "nothing", "the loss 0.25.") == [
        (0, "loss", 0.5),
        (1, "loss", 0.25),
    ]


def test_group_gives_step_of_its_line() -> None:
    pattern = r"epoch (?P<step>\d+).*acc=(?P<value>[-+0-9.e]+)%"
    assert _found({"acc": pattern}, "epoch 3: acc=97.5%", "epoch 5: acc=1e1%") == [(3, "acc", 97.5), (5, "acc", 10.0)]


def test_pattern_gives_step_of_following_lines() -> None:
    patterns = {"step": r"epoch (\d+)", "loss": "loss ([0-9.]+)", "acc": "acc ([0-9.]+)"}
    lines = ("epoch 1: loss 0.5", "acc 0.9", "epoch 2:", "loss 0.4")
    assert _found(patterns, *lines) == [(1, "loss", 0.5), (1, "acc", 0.9), (2, "loss", 0.4)]


@pytest.mark.parametrize(
    ("patterns", "line", "message"),
    [
        ({"loss": "loss (.*)"}, "loss is high", "program.metrics.loss matched 'is high', which is not a number"),
        ({"loss": r"(\w+) (?P<step>\w+)"}, "1 one", "step must be a non-negative integer, got 'one'"),
        ({"step": "at (.*)", "loss": "(no)"}, "at -3", "step must be a non-negative integer, got '-3'"),
    ],
)
def test_match_that_is_not_a_number_is_shown_with_its_line(patterns: dict[str, str], line: str, message: str) -> None:
    with pytest.raises(BadReportError) as caught:
        _found(patterns, line)
    assert message in str(caught.value) and line in str(caught.value)


def test_only_beginning_of_long_line_is_searched() -> None:
    assert _found({"loss": "loss ([0-9.]+)"}, "x" * MAX_LINE + " loss 1") == []


def test_long_pattern_is_rejected() -> None:
    assert invalid_pattern_reason("(a)" * 400) is not None
    assert invalid_pattern_reason("loss ([0-9.]+)") is None


@pytest.mark.parametrize("character_range", ["[\x01-\uffff]", r"[\x01-\uffff]", r"[\0-\U0000ffff]"])
def test_pattern_that_compiles_slowly_is_rejected(character_range: str) -> None:
    for text in (f"({character_range * 50})", f"(?i)({character_range * 50})"):
        assert "must have at most 3 character ranges beyond Latin-1" in (invalid_pattern_reason(text) or "")
    assert invalid_pattern_reason(f"(?i)({character_range})") is None


def test_patterns_are_validated_only_at_submission() -> None:
    program = {"script": "train.py", "metrics": {"score": "(no"}}
    with pytest.raises(InvalidSpecError, match="invalid regular expression"):
        parse_spec(document(program=program))
    spec_from_json(json.dumps(document(program=program)))


PIECES = st.lists(st.text(st.sampled_from("ab\r\n"), max_size=8).map(str.encode), max_size=10)


@given(PIECES)
def test_lines_are_independent_of_chunking(pieces: list[bytes]) -> None:
    lines = LineSplitter()
    found = [line for piece in pieces for line in lines.feed(piece)] + list(lines.flush())
    whole = b"".join(pieces).decode().replace("\r", "\n")
    assert found == [line for line in whole.split("\n") if line]


def test_lines_are_truncated_and_stripped_of_colors() -> None:
    lines = LineSplitter()
    assert list(lines.feed(b"x" * 10_000)) == []
    assert [len(line) for line in lines.feed(b"y" * 10_000 + b"\n\x1b[32mgreen\x1b[0m\n")] == [MAX_LINE, 5]


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_json_lines_are_read_incrementally(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    file = JsonLines(path)
    assert list(file.read_new()) == []
    _append(path, '{"step": 3, "loss": 0.5, "note": "good", "best": true}\n\n{"loss": 1, "hu')
    assert list(file.read_new()) == [(3, {"loss": 0.5})]
    _append(path, f'ge": {"9" * 400}}}\n')
    assert list(file.read_new()) == [(4, {"loss": 1.0})]


def test_summary_gives_final_values(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    _append(path, '{"loss": 1}\n{"summary": {"loss": 0.5, "note": "x"}}\n{"loss": 2, "summary": {"best": 3}}\n')
    assert list(JsonLines(path).read_new()) == [
        (0, {"loss": 1.0}),
        (None, {"loss": 0.5}),
        (1, {"loss": 2.0}),
        (None, {"best": 3.0}),
    ]
    path.write_text('{"summary": 4}\n')
    assert list(JsonLines(path).read_new()) == [(0, {"summary": 4.0})]


def test_non_finite_values_are_read_in_any_spelling(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    _append(
        path, '{"a": Infinity, "b": "-inf", "c": "Infinity", "d": "infinite", "e": null}\n{"f": NaN}\n{"f": "nan"}\n'
    )
    (_, first), *others = JsonLines(path).read_new()
    assert first == {"a": math.inf, "b": -math.inf, "c": math.inf}
    assert [math.isnan(values["f"]) for _, values in others] == [True, True]


def test_last_json_line_needs_no_newline(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    file = JsonLines(path)
    _append(path, '{"loss": 1}\n{"loss": 0.5}')
    assert [*file.read_new(), *file.flush()] == [(0, {"loss": 1.0}), (1, {"loss": 0.5})]
    assert [*file.read_new(), *file.flush()] == []
    _append(path, '\n{"lo')
    assert list(file.read_new()) == []
    with pytest.raises(BadReportError, match="line 4 of the file in PODIUM_METRICS is not valid JSON"):
        list(file.flush())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss 3\n", "line 1 of the file in PODIUM_METRICS is not valid JSON: b'loss 3'"),
        ("[1]\n", "line 1 of the file in PODIUM_METRICS is not an object"),
        ('{"a": 1}\n{"step": -1}\n', "line 2 of the file in PODIUM_METRICS has step -1"),
        ("x" * (MAX_JSON_LINE + 1), "is longer than"),
    ],
)
def test_invalid_json_line_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "metrics").write_text(text)
    with pytest.raises(BadReportError) as caught:
        list(JsonLines(tmp_path / "metrics").read_new())
    assert message in str(caught.value)
