"""Processes that `podium serve` forks: what they share with it, and what they must not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repository import ROOT

# Forks `forked_component` in this process, whose state is everything that a component must not inherit.
PARENT = """
import atexit, json, os, signal, sys, threading
from podium.api.serve import child_process

output, *arguments = sys.argv[1:]
wake_read, wake_write = os.pipe()
os.set_blocking(wake_write, False)
signal.set_wakeup_fd(wake_write)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
    signal.signal(number, lambda *_: None)
atexit.register(lambda: print("exit handler of the parent"))
secret = os.open("/dev/null", os.O_RDONLY)
os.set_inheritable(secret, True)
kept = os.pipe()
sys.stdout.write("not flushed ")
if "threads" in arguments:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
null = os.open("/dev/null", os.O_RDONLY)
log = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
environment = {"OF_THE_COMPONENT": "1", "PYTHONPATH": os.environ["PYTHONPATH"], "PATH": os.environ["PATH"]}
process = child_process.start_process(
    "tests.forked_component", arguments, environment, (null, log, log), [kept[1]])
status = process.wait()
os.close(kept[1])
print(json.dumps({"kind": type(process).__name__, "status": status, "read": os.read(kept[0], 10).decode(),
                  "kept": kept[1], "pid": process.pid, "poll": process.poll()}), flush=True)
os._exit(0)
"""
SECRET = "a-secret-of-serve"


def forked(tmp_path: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """What the parent prints about the process, and the output of the process."""
    output = tmp_path / "output"
    done = subprocess.run(
        [sys.executable, "-P", "-c", PARENT, str(output), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SECRET": SECRET}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    *before, last = done.stdout.splitlines()
    assert before == []
    assert last.startswith("not flushed {")
    return json.loads(last.removeprefix("not flushed ")), output.read_text()


@pytest.mark.parametrize(("how", "kind"), [("report", "ChildProcess"), ("threads", "Popen")])
def test_component_has_nothing_of_its_parent_but_the_imports(tmp_path: Path, how: str, kind: str) -> None:
    about, output = forked(tmp_path, how)
    assert (about["kind"], about["status"], about["poll"]) == (kind, 0, 0)
    found = json.loads(output)
    assert found["environment"] == found["environment"] | {"OF_THE_COMPONENT": "1"}
    assert "SECRET" not in found["environment"]
    assert SECRET not in found["shown environment"]
    assert found["descriptors"] == [0, 1, 2, about["kept"]]
    assert found["arguments"] == [str(ROOT / "tests" / "forked_component.py"), how]
    assert found["command"].split() == [sys.executable, "-P", "-m", "tests.forked_component", how]
    assert found["signals"] == ["SIG_DFL", "default_int_handler", "SIG_DFL", -1]
    assert found["blocked"] == []
    assert found["session"] == about["pid"]
    assert found["standard input"] == ""
    assert about["read"] == "passed"


def test_component_has_standard_streams_if_its_parent_has_none(tmp_path: Path) -> None:
    output = tmp_path / "output"
    parent = f"""
import os, sys
from podium.api.serve import child_process

log, null = os.open({str(output)!r}, os.O_WRONLY | os.O_CREAT, 0o600), os.open("/dev/null", os.O_RDONLY)
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None  # as in a process that was started with closed ones
process = child_process.start_process("tests.forked_component", ["report"], dict(os.environ), (null, log, log), [])
os._exit(process.wait())
"""
    subprocess.run([sys.executable, "-P", "-c", parent], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert json.loads(output.read_text())["session"]


@pytest.mark.parametrize(("argument", "status", "output"), [
    ("exits", 3, ""),
    ("exits with message", 1, "cannot start\n"),
    ("returns", 0, "exit handler\n"),
    ("dies", -9, ""),
])  # fmt: skip
def test_exit_status_is_that_of_an_interpreter(tmp_path: Path, argument: str, status: int, output: str) -> None:
    about, said = forked(tmp_path, argument)
    assert (about["kind"], about["status"], said) == ("ChildProcess", status, output)


def test_uncaught_exception_is_in_the_log(tmp_path: Path) -> None:
    about, said = forked(tmp_path, "raises")
    assert about["status"] == 1
    assert said.splitlines()[-1] == "ValueError: of the component"


def test_exit_waits_for_threads(tmp_path: Path) -> None:
    about, said = forked(tmp_path, "waits for a thread")
    assert (about["status"], said) == (0, "of the thread\n")
