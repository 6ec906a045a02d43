"""The hook that forwards metrics of wandb, with a fake wandb in a new Python process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.trial_process.script_metrics_file import JsonLines
from podium.sweep.trial_process.wandb_environment import HOOK_FOLDER
from podium.sweep.values.logged_image_names import FOLDER, LoggedImage, parse

# The names that the hook relies on, which wandb has had since 0.13.
FAKE = {
    "wandb/__init__.py": """
class Image:
    def __init__(self, image): self.image = image
from wandb.sdk import wandb_run, wandb_summary
run = None
def init(**settings):
    global run, log
    run = wandb_run.Run()
    log = run.log
    return run
""",
    "wandb/sdk/__init__.py": "",
    "wandb/sdk/wandb_run.py": """
from wandb.sdk.wandb_summary import Summary
class Run:
    def __init__(self): self.summary = Summary()
    def log(self, data, step=None, commit=None): pass
    def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None): pass
""",
    "wandb/sdk/wandb_summary.py": """
class Summary:
    def __setitem__(self, key, value): self.update({key: value})
    def update(self, values): pass
""",
}


def _lines(folder: Path, program: str, **environment: str) -> list[dict[str, Any]]:
    """What a program in a folder with the small wandb appends to the file of metrics."""
    for name, text in FAKE.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "program.py").write_text(program)
    metrics = folder / "metrics.jsonl"
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(HOOK_FOLDER),
        "PODIUM_METRICS": str(metrics),
        "PODIUM_OBJECTIVES": '["loss"]',
        **environment,
    }
    done = subprocess.run(
        [sys.executable, str(folder / "program.py")], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []


def test_steps_are_counted_as_in_wandb(tmp_path: Path) -> None:
    program = """
import wandb
run = wandb.init()
wandb.log({"loss": 1})
run.log({"loss": 2}, commit=False)
run.log({"acc": 3})
run.log({"loss": 4}, step=10)
run.log({"loss": 5}, step=7)  # wandb ignores it
run.log({"loss": 6}, step=10)
run.log({"loss": 7})
wandb.init().log({"loss": 8})  # a separate run
"""
    assert _lines(tmp_path, program) == [
        {"step": 0, "loss": 1.0},
        {"step": 1, "loss": 2.0},
        {"step": 1, "acc": 3.0},
        {"step": 10, "loss": 4.0},
        {"step": 10, "loss": 6.0},
        {"step": 10, "loss": 7.0},
        {"step": 0, "loss": 8.0},
    ]


def test_only_numbers_are_forwarded(tmp_path: Path) -> None:
    program = """
import wandb
class Item:
    def __init__(self, value): self.value = value
    def item(self):
        if self.value is None: raise RuntimeError("several")
        return self.value
wandb.init()
wandb.log({
    "loss": Item(0.5), "a": {"b": {"c": 2}}, 3: 4, "text": "5", "flag": True, "many": Item(None), "huge": 10**400,
})
wandb.log({"loss": float("nan")})
wandb.log({"text": "nothing here"})
"""
    first, second = _lines(tmp_path, program)
    assert first == {"step": 0, "loss": 0.5, "a.b.c": 2.0, "3": 4.0}
    assert second["loss"] != second["loss"]


def test_metric_called_step_is_not_the_step(tmp_path: Path) -> None:
    _lines(tmp_path, "import wandb\nwandb.init().log({'step': 128.0, 'loss': 0.5})\n")
    assert list(JsonLines(tmp_path / "metrics.jsonl").read_new()) == [(0, {"loss": 0.5, "step": 128.0})]


def test_summaries_are_final_values(tmp_path: Path) -> None:
    program = """
import wandb
run = wandb.init()
run.define_metric("loss", summary="min")
run.define_metric("acc*", summary="max,mean")
run.log({"loss": 2, "acc/top1": 1, "other": 1})
run.log({"loss": 3})
run.summary["best"] = 4
"""
    assert _lines(tmp_path, program) == [
        {"step": 0, "loss": 2.0, "acc/top1": 1.0, "other": 1.0},
        {"summary": {"loss": 2.0, "loss.min": 2.0, "acc/top1": 1.0, "acc/top1.max": 1.0}},
        {"step": 1, "loss": 3.0},
        {"summary": {"loss": 2.0, "loss.min": 2.0}},
        {"summary": {"best": 4.0}},
    ]


def test_objectives_are_kept_among_too_many_names(tmp_path: Path) -> None:
    program = """
import wandb
wandb.init()
wandb.log({f"m{number}": number for number in range(2000)})
wandb.log({"loss": 1, "m1999": 1, "m0": 1})
"""
    *many, last = _lines(tmp_path, program)
    assert sum(len(line) - 1 for line in many) == 899 and all(len(json.dumps(line)) < 64 << 10 for line in many)
    assert last == {"step": 1, "loss": 1.0, "m0": 1.0}


@pytest.mark.parametrize("own", ["", "raise ValueError('simulated')"])
def test_user_sitecustomize_runs_and_path_is_restored(tmp_path: Path, own: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(f"import sys\nsys.users_own = 1\n{own}\n")
    path = os.pathsep.join([str(HOOK_FOLDER), str(tmp_path / "own")])
    program = f"""
import sys, sitecustomize, wandb
assert sys.users_own == 1 and {str(HOOK_FOLDER)!r} not in sys.path
assert {bool(own)} or sitecustomize.__file__.startswith({str(tmp_path)!r})
wandb.init().log({{"loss": 1}})
"""
    if own:
        program = program.replace("import sys, sitecustomize, wandb", "import sys, wandb")
    assert _lines(tmp_path, program, PYTHONPATH=path) == [{"step": 0, "loss": 1.0}]


def test_unwritable_file_does_not_end_the_program(tmp_path: Path) -> None:
    program = "import wandb\nwandb.init().log({'loss': 1})\n"
    assert _lines(tmp_path, program, PODIUM_METRICS=str(tmp_path / "nowhere" / "metrics")) == []


def test_program_without_wandb_is_unaffected(tmp_path: Path) -> None:
    program = "import sys\nassert 'json' not in sys.modules and 'typing' not in sys.modules, 'costs time'\n"
    assert _lines(tmp_path, program) == []


def test_images_are_files_by_name_and_step(tmp_path: Path) -> None:
    program = """
import wandb
class Picture:  # as of Pillow
    def __init__(self, text): self.text = text
    def save(self, file, format):
        if self.text is None: raise OSError("damaged")
        file.write(b"\\x89PNG" + self.text)
run = wandb.init()
run.log({"loss": 1, "val/samples": wandb.Image(Picture(b"a"))}, step=3)
run.log({"many": [wandb.Image(Picture(b"b")), wandb.Image(Picture(b"c"))], "inner": {"x": wandb.Image(Picture(b"d"))}})
run.log({"elsewhere": wandb.Image(None), "damaged": wandb.Image(Picture(None)), "loss": 2})
"""
    assert [line["loss"] for line in _lines(tmp_path, program, PODIUM_ARTIFACTS=str(tmp_path / "kept"))] == [1.0, 2.0]
    files = {path.name: path.read_bytes() for path in (tmp_path / "kept" / FOLDER).iterdir()}
    assert files == {
        "val~2Fsamples.3.png": b"\x89PNGa",
        "many~2F0.3.png": b"\x89PNGb",
        "many~2F1.3.png": b"\x89PNGc",
        "inner~2Ex.3.png": b"\x89PNGd",
    }
    assert {parse(name) for name in files} == {
        LoggedImage("val/samples", 3), LoggedImage("many/0", 3), LoggedImage("many/1", 3), LoggedImage("inner.x", 3)
    }  # fmt: skip
