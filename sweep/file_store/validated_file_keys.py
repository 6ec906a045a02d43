"""The keys of stored files, checked before one becomes a path: other machines send them; node service, node agent."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podium.sweep.runtime.attempt_directory import attempt_of_folder
from podium.sweep.values.errors import BadRequestError

MAX_KEY = 1024  # characters
_BUNDLE = re.compile(r"bundles/[0-9a-f]{64}\.zip")
_DATASET = re.compile(r"datasets/[a-z0-9-]{1,80}/[a-z_0-9]{1,40}\.npy")
_ATTEMPT = re.compile(
    r"(?s)trials/(?P<sweep>[1-9][0-9]{0,18})/(?P<trial>[0-9]{1,18})/(?P<folder>[0-9a-f-]{1,40})/(?P<name>.+)"
)
_TRIAL = re.compile(r"trials/[1-9][0-9]{0,18}/[0-9]{1,18}/")
_COMPLETE = re.compile(r"checkpoint\.safetensors|checkpoints/[0-9]+/podium\.json")  # these files arrive last
_CHECKPOINTS = ("checkpoint.safetensors", "checkpoints")


def checked(key: str) -> str:
    """The key. Raises `BadRequestError` unless it names a bundle, an array of a data set, or a file of an attempt."""
    match = _ATTEMPT.fullmatch(key)
    if not key.isprintable() and any("\ud800" <= character <= "\udfff" for character in key):
        raise BadRequestError(f"{ascii(key)[:200]} has a name that is not UTF-8")
    plain = match is not None and not any(part in ("", ".", "..") for part in match["name"].split("/"))
    if len(key) <= MAX_KEY and "\0" not in key and (plain or _BUNDLE.fullmatch(key) or _DATASET.fullmatch(key)):
        return key
    raise BadRequestError(f"{key[:200]!r} is not the key of a stored file")


def checked_prefix(prefix: str) -> str:
    """The prefix. Raises `BadRequestError` unless it names the attempts of one trial."""
    if _TRIAL.fullmatch(prefix) is None:
        raise BadRequestError(f"{prefix[:200]!r}: files are listed by trial, like trials/7/12/")
    return prefix


def attempt_folder(key: str) -> tuple[int, int, str]:
    """Sweep id, trial number and folder name of a file of an attempt. Raises `BadRequestError` for another key."""
    match = _ATTEMPT.fullmatch(checked(key))
    if match is None:
        raise BadRequestError(f"{key!r} is not a file of an attempt")
    return int(match["sweep"]), int(match["trial"]), match["folder"]


def is_checkpoint(key: str) -> bool:
    """Whether a file of an attempt belongs to its checkpoints, which are removed when the trial has ended."""
    match = _ATTEMPT.fullmatch(key)
    return match is not None and match["name"].split("/")[0] in _CHECKPOINTS


def completes_checkpoint(key: str) -> bool:
    """Whether this file of an attempt makes one of its checkpoints valid."""
    match = _ATTEMPT.fullmatch(key)
    return match is not None and _COMPLETE.fullmatch(match["name"]) is not None


def newest_checkpoint(keys: Iterable[str], before: int, first: int = 1) -> list[str]:
    """The keys of the newest complete checkpoint of a trial from an attempt before this one, in the order to fetch.

    `first`: the first attempt that is considered. The file that makes a folder valid is the last.
    """
    by_attempt: dict[int, list[str]] = {}
    for key in keys:
        if is_checkpoint(key):
            by_attempt.setdefault(attempt_of_folder(attempt_folder(key)[2])[0], []).append(key)
    earlier = [
        attempt
        for attempt, keys in by_attempt.items()
        if first <= attempt < before and any(map(completes_checkpoint, keys))
    ]
    if not earlier:
        return []
    return sorted(by_attempt[max(earlier)], key=lambda key: (key.endswith("/podium.json"), key))
