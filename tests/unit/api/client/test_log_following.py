"""The log of a trial as it grows: complete characters, each once, over all attempts, to its end."""

from __future__ import annotations

from typing import Any

from podium.api.client.log_following import follow_log
from podium.sweep.values.errors import NotFoundError
from tests.service_rig import ServiceRig


class GrowingTrial:
    """A client of one trial that advances by one step per request: its state, its attempt, and its whole log."""

    def __init__(self, *steps: tuple[str, int, str | None]) -> None:
        self._steps = list(steps)
        self._now = steps[0]

    def trial(self, trial_id: int) -> dict[str, Any]:
        assert trial_id == 7
        self._now = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        state, attempt, _ = self._now
        return {"state": state, "attempt": attempt}

    def log_from(self, trial_id: int, attempt: int, start: int, rank: int = 0) -> tuple[str, int]:
        assert (trial_id, attempt, rank) == (7, self._now[1], 0)
        printed = self._now[2]
        if printed is None:
            raise NotFoundError("nothing yet")
        start = min(start, len(printed))
        return printed[start:], len(printed)


def _followed(*steps: tuple[str, int, str | None]) -> str:
    client: Any = GrowingTrial(*steps)
    return "".join(follow_log(client, 7, poll_s=0.0))


def test_log_is_followed_once_to_its_end() -> None:
    steps: list[tuple[str, int, str | None]] = [
        ("waiting", 0, None),
        ("running", 1, None),
        ("running", 1, "a\n"),
        ("running", 1, "a\n"),
        ("finished", 1, "a\nb\nc\n"),
    ]
    assert _followed(*steps) == "a\nb\nc\n"


def test_next_attempt_is_named() -> None:
    printed = _followed(("running", 1, "one\n"), ("running", 2, None), ("failed", 2, "two\n"))
    assert printed == "one\n\n[ attempt 2 ]\ntwo\n"


def test_truncated_log_is_continued_at_its_end() -> None:
    printed = _followed(("running", 1, "a" * 10), ("running", 1, "a" * 5), ("finished", 1, "a" * 5 + "end"))
    assert printed == "a" * 10 + "end"


def test_incomplete_character_waits_for_its_remaining_bytes(service: ServiceRig) -> None:
    trial_id = service.trial(service.sweep(), 0, None, log="é")
    path = service.attempt(1, 0).log
    path.write_bytes("aé".encode()[:2])
    client = service.client()
    first = client.get(f"/api/v1/trials/{trial_id}/log", params={"from_byte": 0})
    assert (first.text, first.headers["Podium-Next-Byte"]) == ("a", "1")
    path.write_bytes("aéb".encode())
    rest = client.get(f"/api/v1/trials/{trial_id}/log", params={"from_byte": 1})
    assert (rest.text, rest.headers["Podium-Next-Byte"]) == ("éb", "4")
    beyond = client.get(f"/api/v1/trials/{trial_id}/log", params={"from_byte": 100})
    assert (beyond.text, beyond.headers["Podium-Next-Byte"]) == ("", "4")
