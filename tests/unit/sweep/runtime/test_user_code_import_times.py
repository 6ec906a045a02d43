"""Slow imports: measured in the first trial, reported with the fix, and found by validation."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import SlotEvents
from podium.sweep.protocol.trial_messages import parse_from_trial
from podium.sweep.runtime.user_code_import_times import ImportTimes, warning_of
from podium.sweep.specfile.slow_import_detection import slow_imports
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import TrialState
from tests.rig import Rig

FUNCTION = {"function": "train:objective", "preload": ["lightning"]}


def play(rig: Rig, imports: dict[str, float], seconds: float) -> None:
    """One trial with these import times, which ran for `seconds` after them."""
    slot = rig.pool["cpu-0"]
    assert slot.running is not None
    running = slot.running
    key, now = AttemptKey(running.trial_id, running.attempt), rig.clock.wall_s()
    slot.add(Started(key, 1, now, "", "cpu", sum(imports.values()), imports))
    rig.inbox.put(SlotEvents("cpu-0", tuple(slot.events)))
    rig.clock.advance(seconds)
    slot.running = None
    slot.add(Ended(key, TrialState.FINISHED, now, now + seconds, value=seconds))
    rig.inbox.put(SlotEvents("cpu-0", tuple(slot.events)))
    rig.settle()


def test_imports_slower_than_trial_give_warning_with_fix() -> None:
    rig = Rig()
    rig.submit(program=FUNCTION)
    play(rig, {"sklearn.ensemble": 1.5, "pandas": 0.7}, 0.5)
    assert rig.sweep().warnings["slow_imports"] == (
        "imports take 2.2 s of each trial, the rest 0.5 s; to import once, set program."
        "preload: [lightning, sklearn.ensemble, pandas]"
    )


def test_only_first_trial_is_measured() -> None:
    rig = Rig()
    rig.submit(program=FUNCTION)
    play(rig, {"pandas": 0.7}, 5.0)
    play(rig, {"pandas": 0.7}, 0.1)
    assert rig.sweep().warnings == {}


@pytest.mark.parametrize(
    ("imports", "rest_s"),
    [({}, 0.1), ({"pandas": 0.2}, 0.1), ({"pandas": 0.7}, 0.8), ({"tensorflow": 16.0}, 1.0)],
)
def test_small_savings_give_no_warning(imports: dict[str, float], rest_s: float) -> None:
    assert warning_of(imports, rest_s, []) == ""


@pytest.mark.parametrize("imports", ["[]", '{"a b": 1.0}', '{"pandas": "x"}'])
def test_reported_import_times_are_validated(imports: str) -> None:
    message = (
        '{"kind": "started", "pid": 1, "at": 1.0, "visible_devices": "", "torch_device": "cpu", '
        f'"imports": {imports}}}'
    )
    with pytest.raises(ValueError, match="invalid value"):
        parse_from_trial(message.encode(), AttemptKey(1, 1))


def test_installed_modules_are_measured_and_own_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, packages = tmp_path / "code", tmp_path / "packages"
    (packages / "slow_one").mkdir(parents=True)
    (packages / "slow_one" / "__init__.py").write_text("")
    (packages / "slow_one" / "part.py").write_text("import time; import slow_two; time.sleep(0.05)")
    (packages / "slow_two.py").write_text("import time; time.sleep(0.05)")
    code.mkdir()
    (code / "mine.py").write_text("import time; time.sleep(0.05)\nimport other_mine\nfrom slow_one import part")
    (code / "other_mine.py").write_text("import json")
    for folder in (packages, code):
        monkeypatch.syspath_prepend(str(folder))
    before, times = builtins.__import__, ImportTimes(str(code))
    with times.measured():
        __import__("mine")
    assert builtins.__import__ is before
    assert list(times.slowest) == ["slow_one.part"]
    assert 0.1 <= times.slowest["slow_one.part"] <= times.total_s
    for name in ("mine", "other_mine", "slow_one", "slow_one.part", "slow_two"):
        sys.modules.pop(name, None)


def test_validation_lists_slow_imports_of_code(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nfrom sklearn.ensemble import RandomForestClassifier\nimport mine\n"
        "def objective(trial):\n    import xgboost\n"
    )
    (tmp_path / "mine.py").write_text(
        "try:\n    import pandas as pd\nexcept ImportError:\n    pass\nimport tensorflow\n"
    )
    assert slow_imports("train:objective", tmp_path, []) == ["sklearn.ensemble", "pandas"]
    assert slow_imports("train:objective", tmp_path, ["sklearn.ensemble"]) == ["pandas"]
    assert slow_imports("not_there:objective", tmp_path, []) == []


def test_validation_names_imported_submodule(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "mlp.py").write_text("import pandas\n")
    (tmp_path / "train.py").write_text("from sklearn import datasets\nfrom nets import mlp\nfrom __main__ import x\n")
    assert slow_imports("train:objective", tmp_path, []) == ["sklearn.datasets", "pandas"]
