"""The log of an attempt: the beginning and the end within the limit, and the number of omitted bytes."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from podium.sweep.slots.attempt_log import HEAD_BYTES, TrialLog

MB = 1 << 20


def test_output_below_the_limit_is_unchanged(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "log", MB)
    log.write(b"one\n")
    log.write(b"\xff\0two")
    assert (tmp_path / "log").read_bytes() == b"one\n\xff\0two"
    assert log.tail(3) == "two" and log.tail(100) == "one\n\ufffd\0two"
    log.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_output_above_the_limit_loses_its_middle_and_counts_the_omitted_bytes(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    written = b""
    log = TrialLog(tmp_path / "log", MB)
    while len(written) < 5 * MB:
        piece = draw.randbytes(draw.choice([1, 1000, 65536]))
        written += piece
        log.write(piece)
        kept = (tmp_path / "log").read_bytes()
        assert len(kept) <= MB
        assert kept.startswith(written[:HEAD_BYTES] if len(kept) >= HEAD_BYTES else written)
    log.close()
    (line,) = re.finditer(rb"\n\[ (\d+) bytes omitted \]\n", kept)
    beginning, end = kept[: line.start()], kept[line.end() :]
    assert written.startswith(beginning) and written.endswith(end) and len(end) > 300_000
    assert int(line[1]) == len(written) - len(beginning) - len(end)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_single_large_write_stays_below_the_limit(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "log", MB)
    log.write(bytes(10 * MB))
    log.close()
    assert (tmp_path / "log").stat().st_size <= MB
