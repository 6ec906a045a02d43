"""Faults of trials: each function is the program of one trial in `test_failure_causes.py`."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np


class OutOfMemoryError(RuntimeError):
    """As torch names it."""


def raises_ten_megabytes(trial: Any) -> None:
    raise ValueError("\ud800\0x" * (10 << 20))


def raises_what_cannot_be_shown(trial: Any) -> None:
    class Unshowable(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no words")

    raise Unshowable


def fills_the_device(trial: Any) -> None:
    raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def kills_itself_hard(trial: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def loops_in_c(trial: Any) -> None:
    """Holds the interpreter, so that no signal handler runs."""
    while True:
        ctypes.PyDLL(None).sleep(1000)


def ignores_all_with_daemons(trial: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path(trial.dir, f"daemon-{os.getpid()}").touch()
                time.sleep(1000)
            os._exit(0)
    while True:
        time.sleep(1)


def fills_memory(trial: Any) -> None:
    held = []
    while True:
        held.append(np.ones(8 << 17))  # 8 MB, touched
        time.sleep(0.001)


def fills_memory_under_a_strange_name(trial: Any) -> None:
    """A thread name that is truncated within a character."""
    ctypes.CDLL(None).prctl(15, b"\xff\xfe", 0, 0, 0)
    fills_memory(trial)


def fills_memory_in_children(trial: Any) -> None:
    script = "import time; held = bytearray(120 << 20); time.sleep(1000)"
    for _ in range(4):
        subprocess.Popen([sys.executable, "-c", script])
    time.sleep(1000)


def shares_much_with_its_children(trial: Any) -> float:
    """250 MB that three forked children share are 250 MB."""
    held = np.ones(250 << 17)
    children = []
    for _ in range(3):
        if (child := os.fork()) == 0:
            time.sleep(1.0)
            os._exit(int(held[0]) - 1)
        children.append(child)
    return float(sum(os.waitpid(child, 0)[1] for child in children))


def fills_its_folder(trial: Any) -> None:
    with Path(trial.dir, "big").open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))
            file.flush()
            time.sleep(0.001)


def fills_the_temporary_folder(trial: Any) -> None:
    while True:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b"x" * (1 << 20))
        time.sleep(0.001)


def finds_the_disk_full(trial: Any) -> None:
    """A real one: the device that is always full."""
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def finds_the_disk_full_after_filling_it(trial: Any) -> None:
    Path(trial.dir, "big").write_bytes(b"x" * (3 << 20))
    finds_the_disk_full(trial)


def sends_a_line_without_end(trial: Any) -> None:
    """Bypasses the trial handle, which would refuse: user code can reach the socket."""
    _socket().sendall(b"x" * (1 << 22))
    time.sleep(1000)


def logs_too_much_at_once(trial: Any) -> None:
    """The maximum number of names of the maximum length; each letter takes six bytes of JSON."""
    trial.log({f"{number:0>200}".replace("0", "\N{LATIN SMALL LETTER E WITH ACUTE}"): 1.0 for number in range(1000)}, 0)


def reports_a_step_without_bounds(trial: Any) -> None:
    trial.report(1.0, step=2**70)


def talks_out_of_bounds(trial: Any) -> None:
    _socket().sendall(json.dumps({"kind": "reported", "step": 2**70, "value": 1.0, "at": 0.0}).encode() + b"\n")
    time.sleep(0.1)
    os._exit(0)


def _socket() -> socket.socket:
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return socket.socket(fileno=os.dup(number))
        except OSError:
            continue
    raise AssertionError("no socket")


def floods_the_log(trial: Any) -> float:
    """100 MB without a line break, between a start and an end marker."""
    os.write(1, b"the beginning")
    for _ in range(100):
        piece = memoryview(b"\xff\0\x80\x01" * (1 << 18))
        while piece:
            piece = piece[os.write(1, piece) :]
    os.write(2, b"the end")
    return 0.75


def floods_the_metrics(trial: Any) -> float:
    began = time.perf_counter()
    for step in range(1_000_000):
        trial.report(step / 1e6, step)
    reported = time.perf_counter()
    for step in range(1_000_000):
        trial.log({"loss": 1.0}, step)
    print(json.dumps({"report_s": reported - began, "log_s": time.perf_counter() - reported}))
    return 0.5


def reports_far_more_than_anyone_fetches(trial: Any) -> float:
    """Bypasses the thinning of points."""
    line = json.dumps({"kind": "reported", "step": 0, "value": 1.0, "at": 0.0}).encode() + b"\n"
    with _socket() as found:
        for _ in range(30_000):
            found.sendall(line)
    return 0.5


def makes_folders_in_folders(trial: Any) -> float:
    """Deeper than recursion and path lengths allow."""
    for _ in range(3000):
        Path("d").mkdir()
        os.chdir("d")
    return 1.0


def makes_folders_where_files_are_expected(trial: Any) -> float:
    for name in (".cache.tmp", "checkpoint.safetensors", ".log.tmp"):
        Path(trial.dir.parent, name, "in").mkdir(parents=True)
    return 1.0


def removes_its_own_folders(trial: Any) -> float:
    trial.dir.rmdir()
    trial.dir.symlink_to("/")
    return 1.0


def leaves_a_thousand_files(trial: Any) -> float:
    for number in range(1000):
        Path(str(number)).touch()
    return 1.0


def fills_its_folder_with_empty_files(trial: Any) -> None:
    for number in range(1_000_000):
        Path(str(number)).touch()
        time.sleep(0.0001)


def reports_5004_points_and_waits(trial: Any) -> None:
    for step in range(5004):
        trial.report(0.5, step)
    trial.log({"all_reported": 1.0}, step=5003)
    time.sleep(1000)


def logs_wide_points(trial: Any) -> float:
    """200 points of 200 KB."""
    for step in range(200):
        trial.log({f"{number:0200}": 0.5 for number in range(1000)}, step)
    return 0.5
