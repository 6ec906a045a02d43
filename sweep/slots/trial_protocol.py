"""What a trial process says to its slot, line by line, checked: user code can reach that socket; slot."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from podium.sweep.values.attempt_outcomes import ChildReport, Chosen
from podium.sweep.values.trial import (
    STUDY_QUESTIONS,
    AttemptKey,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    StopAsked,
    StudyAsked,
    Wanted,
)
from podium.sweep.values.trial_attributes import too_deep

MAX_LINE_BYTES = 1 << 20
MAX_STEP = 2**63 - 1
MAX_NAMES = 1000  # of metrics
MAX_NAME = 200
MAX_IMPORTS = 10  # modules whose import times a process tells


@dataclass(frozen=True, slots=True)
class Noted:
    """What the trial noted of itself; it goes with the attempt's end. The slot checks it where it keeps it."""

    constraints: dict[str, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)


def understand(key: AttemptKey, line: bytes) -> Event | ChildReport | Noted | Chosen | None:
    """The event, note or outcome in a line, or None for a mere sign of life. Raises `ValueError` for anything else."""
    try:
        message = json.loads(line)
        kind = message.pop("kind")
        if kind == "alive":
            return None
        if kind == "outcome":
            return ChildReport(**message)
        if kind == "chosen":
            return Chosen(**message)
        if kind == "noted":
            noted = Noted(**message)
            _check(isinstance(noted.constraints, dict) and isinstance(noted.user_attrs, dict), message)
            _check(not any(map(too_deep, noted.user_attrs.values())), {"kind": kind, "user_attrs": "nested too deep"})
            return noted
        return _event(key, kind, message)
    except ValueError:
        raise
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _event(key: AttemptKey, kind: str, message: dict[str, Any]) -> Event:
    if kind == "reported":
        reported = Reported(key, **message)
        _check(_step(reported.step) and _number(reported.value) and _number(reported.at), message)
        return reported
    if kind == "logged":
        logged = Logged(key, **message)
        named = len(logged.values) <= MAX_NAMES and all(
            _text(name) and len(name) <= MAX_NAME and _number(value) for name, value in logged.values.items()
        )
        _check(_step(logged.step) and named and _number(logged.at), message)
        return logged
    if kind == "saved":
        saved = Saved(key, **message)
        _check(_name(saved.name) and _text(saved.sha256) and _step(saved.size_bytes), message)
        return saved
    if kind == "wanted":
        wanted = Wanted(key, **message)
        named = _text(wanted.name) and 0 < len(wanted.name) <= MAX_NAME and isinstance(wanted.drawn, bool)
        _check(not too_deep(wanted.distribution), {"distribution": "nested too deep"})
        _check(named and isinstance(wanted.distribution, dict) and _scalar(wanted.value), message)
        return wanted
    if kind == "started":
        started = Started(key, **message)
        _check(_step(started.pid) and _number(started.at), message)
        _check(_text(started.visible_devices) and _text(started.torch_device) and _number(started.import_s), message)
        named = isinstance(started.imports, dict) and len(started.imports) <= MAX_IMPORTS
        _check(named and all(_name_of_module(n) and _number(s) for n, s in started.imports.items()), message)
        return started
    if kind == "study_asked":
        asked = StudyAsked(key, **message)
        _check(_step(asked.request) and _step(asked.number) and asked.what in STUDY_QUESTIONS, message)
        return asked
    if kind == "stop_asked":
        return StopAsked(key, **message)
    raise ValueError(f"no such message: {kind!r}")


def _name_of_module(name: str) -> bool:
    return len(name) <= MAX_NAME and all(part.isidentifier() for part in name.split("."))


def _check(right: bool, message: dict[str, Any]) -> None:
    if not right:
        raise ValueError(f"wrong values: {message!r:.200}")


def _step(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_STEP


def _number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _text(value: Any) -> bool:
    """A text that every database takes."""
    try:
        return isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def _scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) <= 2**53) or _text(value)


def _name(value: Any) -> bool:
    return _text(value) and not PurePosixPath(value).is_absolute() and ".." not in PurePosixPath(value).parts
