"""A class that passed its check is not checked again, and the number of remembered checks is bounded."""

from __future__ import annotations

import json
import subprocess

import pytest

from podium.sweep.specfile.custom_class_check import check_classes
from podium.sweep.specfile.custom_class_check_cache import CustomClassCheckCache
from tests.specs import spec

CLASS = {"sampler": "their_samplers:Fine", "args": {"last": 3}}


def test_number_of_remembered_checks_is_bounded() -> None:
    usable = CustomClassCheckCache(most=2)
    for check in ("a", "b", "a", "c"):
        usable.add(check)
    assert len(usable) == 2 and "a" in usable and "b" in usable and "c" not in usable


def test_each_check_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def run(command: list[str], input: str, **others: object) -> subprocess.CompletedProcess[str]:
        started.append(input)
        return subprocess.CompletedProcess(command, 0, json.dumps([None]), "")

    monkeypatch.setattr(subprocess, "run", run)
    usable = CustomClassCheckCache()
    for _ in range(2):
        check_classes(spec(method=CLASS), usable=usable)
    assert len(started) == 1
    check_classes(spec(method={**CLASS, "args": {"last": 4}}), usable=usable)
    check_classes(spec(method=CLASS), usable=CustomClassCheckCache())
    assert len(started) == 3
