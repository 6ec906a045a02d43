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

from podium.sweep.runtime import full_disk
from podium.sweep.runtime.fail_points import passing
from podium.sweep.runtime.import_times import ImportTimes
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.runtime.thread_variables import thread_variables
from podium.sweep.spec.command_line import environment_of_function
from podium.sweep.trial_process import constraint_function, script_program, user_code
from podium.sweep.trial_process.channel import Channel
from podium.sweep.trial_process.early_finish import TrialStopped
from podium.sweep.trial_process.tracebacks import shown_traceback
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.trial_process.wandb_run import wandb_variables
from podium.sweep.trial_process.wandb_sink import WandbSink
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, MAX_TRACEBACK
from podium.sweep.values.errors import BadReportError, PinningError, ScriptFailedError
from podium.sweep.values.failure_causes import cause_of, disk_is_full, shown
from podium.sweep.values.objective_values import returned_values
from podium.sweep.values.trial import COUNTED, Assignment, TrialState

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
    constraints: constraint_function.Evaluate | None = None
    signal.signal(signal.SIGTERM, _stop)
    try:
        _enter_namespace(assignment, log)
        device = _check_device(message["device"])
        _seed(assignment, device)
        imports = ImportTimes(assignment.code if assignment.program.get("function") is not None else None)
        with imports.measured():
            program = _load_program(assignment)
            constraints = constraint_function.load(assignment.program, assignment.code)
        trial = Trial(assignment, channel, device)
        channel.send(
            kind="started",
            pid=os.getpid(),
            at=time.time(),
            visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
            torch_device=str(device),
            import_s=imports.total_s,
            imports=imports.slowest,
        )
        outcome = _outcome(program, trial, assignment)
        if constraints is not None:
            outcome = _with_constraints(outcome, constraints, trial, assignment)
        trial.report_last()
        outcome = _with_unused(outcome, trial)
        channel.send(kind="outcome", late_prune_answers=trial.late_prune_answers, **outcome)
        passing("attempt.after-outcome")
    except _Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if trial is not None and not channel.cut_short:
            trial.report_last()
            if assignment.limits.on_timeout == "finish":
                _tell_value(trial, constraints, assignment, channel)
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
    except TrialStopped:
        return _early(trial, assignment)
    except SystemExit as error:
        trial.report_last()
        _flush()
        os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        if trial.ending.decided:  # raised by what the code does when it is stopped
            print(shown_traceback(error), end="", file=sys.stderr)
            return _early(trial, assignment)
        if user_code.is_pruned(error):
            return {"state": "pruned"}
        return _failed(error, assignment)
    if trial.ending.decided:
        return _early(trial, assignment)
    try:
        returned = trial.ending.chosen(None) if result is None else result
        values = returned_values(returned, assignment.objectives)
        return {"state": "finished", "values": values, "message": trial.ending.reason}
    except BadReportError as error:
        return _failed(error, assignment)


def _early(trial: Trial, assignment: Assignment) -> dict[str, Any]:
    """A condition of `stop` has ended it."""
    try:
        return trial.ending.outcome()
    except BadReportError as error:
        return _failed(error, assignment)


def _tell_value(
    trial: Trial, constraints: constraint_function.Evaluate | None, assignment: Assignment, channel: Channel
) -> None:
    """At the time limit: the value so far, with the constraints noted; the failure where these cannot be told."""
    values = trial.ending.values
    if constraints is not None and values is not None:
        try:
            constraints(trial, TrialState.FINISHED, values)
        except BaseException as error:  # noqa: BLE001 - user code may raise anything
            channel.send(kind="outcome", **_failed(error, assignment))
            constraints = None
    trial.ending.tell(constrained=constraints is not None)


def _with_unused(outcome: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """Say in the log, and with a trial that counts, which enqueued values were not used."""
    unused = trial.unused_enqueued
    if not unused:
        return outcome
    words = f"enqueued, but not suggested by the code, so without effect: {', '.join(unused)}"
    print(f"podium: {words}", file=sys.stderr)
    if TrialState(outcome["state"]) not in COUNTED:
        return outcome
    said = outcome.get("message")
    return {**outcome, "message": f"{said}; {words}"[:MAX_MESSAGE] if said else words[:MAX_MESSAGE]}


def _with_constraints(
    outcome: dict[str, Any], constraints: constraint_function.Evaluate, trial: Trial, assignment: Assignment
) -> dict[str, Any]:
    """The outcome, with the constraints noted. A trial of which they cannot be told has failed: it is not feasible."""
    state = TrialState(outcome["state"])
    if state not in COUNTED:
        return outcome
    try:
        constraints(trial, state, outcome.get("values"))
    except _Stopped:
        raise
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        return _failed(error, assignment)
    return outcome


def _failed(error: BaseException, assignment: Assignment) -> dict[str, Any]:
    cause, message, interrupted = cause_of(error), f"{type(error).__name__}: {shown(error)}", False
    if disk_is_full(error):
        cause, message, interrupted = full_disk.blame(error, message, assignment)
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
        "interrupted": interrupted,
    }


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
    os.environ.update(thread_variables(threads))
    if assignment.program.get("function") is not None:
        own = environment_of_function(assignment.program, assignment.params, directory.temporary / "args.json")
        os.environ.update(own)
        os.environ.update(wandb_variables(assignment.params, directory.temporary, os.environ))
        threads = int(number) if (number := own.get("OMP_NUM_THREADS", "")).isdecimal() else threads
    import torch  # already in the template: this only binds the name

    torch.set_num_threads(max(1, threads))


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
        sink = WandbSink()
        sink.install(assignment.objectives)
        function = user_code.load(program, assignment.code)
        return lambda trial: sink.run(function, trial)
    if program.get("command") is not None:
        return script_program.program(program, assignment.code, assignment.limits.grace_s)
    training = importlib.import_module("podium.sweep.training.fit")
    fit: Callable[[Trial], Any] = training.program(program, assignment.split)
    return fit


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
