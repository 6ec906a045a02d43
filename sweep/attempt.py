"""Inside the trial process: from the assignment to the outcome.

Runs in the process that the fork server forked for one attempt, and nowhere else. Never imports api, db, optuna,
sqlalchemy or fastapi, so that a user's own modules of those names work.
"""

from __future__ import annotations

import faulthandler
import importlib
import logging
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sweep import command, user_code
from sweep.causes import cause_of, disk_is_full, shown
from sweep.channel import Channel
from sweep.errors import BadReportError, PinningError, ScriptFailedError
from sweep.fail_points import passing
from sweep.handle import Trial
from sweep.layout import AttemptDirectory
from sweep.outcomes import MAX_MESSAGE, MAX_TRACEBACK, over_quota
from sweep.returned import returned_values
from sweep.tracebacks import shown_traceback
from sweep.trial import Assignment, Cause
from sweep.usage import folder_bytes

if TYPE_CHECKING:
    import torch


class _Stopped(BaseException):
    """The slot asked this process to end."""


def run(connection: socket.socket, log: int) -> int:
    """Run the one attempt that the slot sends over `connection`; returns the exit status of the process.

    What it prints goes to the descriptor `log`, which the slot reads.
    """
    channel = Channel(connection)
    message = channel.receive(None)
    if message is None:
        return 0
    assignment = Assignment.from_dict(message["assignment"])
    trial: Trial | None = None
    signal.signal(signal.SIGTERM, _stop)
    try:
        _enter_namespace(assignment, log)
        device = _check_device(message["device"])
        _seed(assignment, device)
        program = _load_program(assignment)
        trial = Trial(assignment, channel, device)
        channel.send(
            kind="started",
            pid=os.getpid(),
            at=time.time(),
            visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
            torch_device=str(device),
        )
        outcome = _outcome(program, trial, assignment)
        trial.report_last()
        channel.send(kind="outcome", late_prune_answers=trial.late_prune_answers, **outcome)
        passing("attempt.after-outcome")
    except _Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if trial is not None and not channel.cut_short:
            trial.report_last()
        return 143
    except Exception as error:  # noqa: BLE001 - whatever went wrong before user code ran is told, not lost
        channel.send(kind="outcome", **_failed(error, assignment))
    finally:
        _flush()
    return 0


def _outcome(program: Callable[[Trial], Any], trial: Trial, assignment: Assignment) -> dict[str, Any]:
    try:
        result = program(trial)
    except _Stopped:
        raise
    except SystemExit as error:
        trial.report_last()
        _flush()
        os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        if user_code.is_pruned(error):
            return {"state": "pruned"}
        return _failed(error, assignment)
    try:
        return {"state": "finished", "values": returned_values(result, assignment.objectives)}
    except BadReportError as error:
        return _failed(error, assignment)


def _failed(error: BaseException, assignment: Assignment) -> dict[str, Any]:
    cause, message = cause_of(error), f"{type(error).__name__}: {shown(error)}"
    if disk_is_full(error):
        cause, message = _no_room(message, assignment)
    if isinstance(error, ScriptFailedError):
        text = error.tail  # which the log has
    else:
        text = shown_traceback(error)
        print(text, end="", file=sys.stderr)
    return {
        "state": "failed",
        "cause": cause.value,
        "message": message[:MAX_MESSAGE],
        "traceback": text[-MAX_TRACEBACK:],
    }


def _no_room(message: str, assignment: Assignment) -> tuple[Cause, str]:
    """Whose fault a full disk is: this trial's, if it took more than it may; else it can be tried again."""
    directory = AttemptDirectory(Path(assignment.directory))
    allowed_mb = assignment.limits.work_dir_mb
    used = folder_bytes((directory.work, directory.temporary))
    if allowed_mb is not None and used > allowed_mb * (1 << 20):
        return Cause.DISK_QUOTA, over_quota(used, allowed_mb)
    return Cause.INFRASTRUCTURE, f"the disk is full: {message}"


def _stop(*_: object) -> NoReturn:
    raise _Stopped


def _enter_namespace(assignment: Assignment, log: int) -> None:
    """Own working directory, temporary directory, log, threads; what the slot masked stays masked."""
    directory = AttemptDirectory(Path(assignment.directory))
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(null)
    sys.stdin = open(0)  # noqa: SIM115 - lives as long as the process
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, force=True)
    os.chdir(directory.work)
    os.environ["TMPDIR"] = tempfile.tempdir = str(directory.temporary)
    threads = assignment.threads or 1
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)
    import torch  # already in the template: this only binds the name

    torch.set_num_threads(threads)


def _check_device(expected: Mapping[str, Any]) -> torch.device:
    """The one device of this slot, or an error: pinning is checked before user code runs."""
    import torch  # already in the template

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible != expected["visible"]:
        raise PinningError(f"pinning failed: sees devices {visible!r}, the slot has {expected['visible']!r}")
    if expected["uuid"] is None:
        return torch.device("cpu")
    if torch.cuda.device_count() != 1:
        raise PinningError(f"pinning failed: sees {torch.cuda.device_count()} GPUs instead of one")
    uuid = str(torch.cuda.get_device_properties(0).uuid)
    if uuid.removeprefix("GPU-") != expected["uuid"].removeprefix("GPU-"):
        raise PinningError(f"pinning failed: sees GPU {uuid}, the slot has {expected['uuid']}")
    return torch.device("cuda", 0)


def _seed(assignment: Assignment, device: torch.device) -> None:
    import torch  # already in the template

    random.seed(assignment.seed)
    torch.default_generator.manual_seed(assignment.seed)  # torch.manual_seed visits every backend: 0.6 ms
    if device.type == "cuda":
        torch.cuda.manual_seed(assignment.seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(assignment.seed % 2**32)


def _load_program(assignment: Assignment) -> Callable[[Trial], Any]:
    program = assignment.program
    if program.get("function") is not None:
        return user_code.load(program, assignment.code)
    if program.get("command") is not None:
        return command.program(program, assignment.code, assignment.limits.grace_s)
    training = importlib.import_module("sweep.training")
    fit: Callable[[Trial], Any] = training.program(program, assignment.split)
    return fit


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
