"""Messages of failures: placeholders make those of one failure equal, and keep others apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.failure_message_normalization import location, normalized


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB", "CUDA out of memory. Tried to allocate <n> MiB"),
        ("loss is nan at step 1_200, lr=3.5e-4", "loss is nan at step <n>, lr=<n>"),
        ("<Net object at 0x7F03Ab12> has no weights", "<Net object at <address>> has no weights"),
        ("No such file: '/data/run-7/train.csv'", "No such file: '<path>'"),
        ("cannot open ./shards/3/x.bin or ~/x/y", "cannot open <path> or <path>"),
        (r"cannot open C:\data\7\x.csv", "cannot open <path>"),
        ("GET https://example.org/a/7?x=1 failed: 503", "GET <url> failed: <n>"),
        ("job 0f3a1c2e-11aa-22bb-33cc-0123456789ab ended", "job <id> ended"),
        ("commit 9fceb02d0ae598e9 is missing", "commit <id> is missing"),
        ("first line 1\nsecond line 2", "first line <n>"),
        ("Expected float32 but got float64 in conv2d", "Expected float32 but got float64 in conv2d"),
        ("either/or is not a path", "either/or is not a path"),
        ("0/x", "<n><path>"),
        ("", ""),
    ],
)
def test_numbers_paths_and_addresses_become_placeholders(message: str, expected: str) -> None:
    assert normalized(message) == expected


@given(st.text(max_size=300))
def test_a_normalized_message_stays_as_it_is(message: str) -> None:
    once = normalized(message)
    assert normalized(once) == once


def test_location_is_the_last_frame_of_the_users_code() -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "/app/train.py", line 12, in objective\n    fit(x)\n'
        '  File "/app/model.py", line 40, in fit\n    torch.nn.f(x)\n'
        '  File "/venv/lib/python3.11/site-packages/torch/nn/f.py", line 9, in f\n    raise ValueError\nValueError\n'
    )
    assert location(traceback) == "model.py:40 in fit"
    assert location('File "/venv/lib/python3.11/site-packages/a.py", line 9, in f') == "a.py:9 in f"
    assert location('File "script.py", line 3, in <module>') == "script.py:3"
    assert location("killed by SIGKILL") is None
