"""Runs one attempt, from its assignment to its outcome; trial process.

The fork server forks one process per attempt, which runs this module and exits. It never imports api, db, optuna,
sqlalchemy or fastapi, so that importing them is the user's choice.
"""

from __future__ import annotations

import faulthandler
import importlib
import itertools
import logging
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.message_limits import MAX_IMPORTS
from podium.sweep.protocol.trial_messages import AttemptGreeting, FinalUsage
from podium.sweep.runtime import attempt_resource_usage, disk_full_cause, forked_process_logging
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.cuda_devices import MIG
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.process_usage import own_totals
from podium.sweep.runtime.signal_handlers import set_signal_handler
from podium.sweep.runtime.thread_count_variables import thread_count_variables
from podium.sweep.runtime.user_code_import_times import ImportTimes
from podium.sweep.spec.command_macros import environment_of_function
from podium.sweep.trial_process import (
    constraint_function,
    gpu_memory_limit,
    rank_setup,
    script_runner,
    user_function_runner,
)
from podium.sweep.trial_process.interval_end import IntervalEnded
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.stop_condition_check import TrialStopped
from podium.sweep.trial_process.thread_pools import set_thread_pools
from podium.sweep.trial_process.tracebacks import format_traceback
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.trial_process.wandb_environment import wandb_variables
from podium.sweep.trial_process.wandb_sink import WandbSink
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, MAX_TRACEBACK, ReportedOutcome
from podium.sweep.values.errors import BadReportError, PinningError, ScriptFailedError
from podium.sweep.values.failure_cause_detection import cause_of, disk_is_full, exception_text
from podium.sweep.values.return_value_conversion import returned_values
from podium.sweep.values.slot_events import Started
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

if TYPE_CHECKING:
    import torch


MEASURED_S = 0.2  # a little less than the time of the first sample
_streams: list[TextIO] = []
_log_handler = forked_process_logging.handler_of(logging.BASIC_FORMAT)


class _Terminated(BaseException):
    """The slot sent SIGTERM to this process."""


def run(connection: socket.socket, log: int) -> int:
    """Run the one attempt that the slot sends over `connection`; returns the exit status of the process.

    Args:
        connection: To the slot.
        log: A descriptor for the output of the process, which the slot reads.
    """
    channel = Channel(connection)
    greeting = channel.receive(None)
    if not isinstance(greeting, AttemptGreeting):
        return 0
    began_s = time.monotonic()
    assignment = greeting.assignment
    trial: Trial | None = None
    constraints: constraint_function.Evaluate | None = None
    try:
        set_signal_handler(signal.SIGTERM, _on_sigterm)
        _set_up_process(assignment, log)
        store = rank_setup.prepare(assignment, channel)  # noqa: F841 - kept until the process exits
        device = check_device(greeting.device, assignment)
        seed_generators(assignment, device)
        imports = ImportTimes(assignment.code if assignment.program.get("function") is not None else None)
        with imports.measured():
            program = load_program(assignment)
            constraints = constraint_function.load(assignment.program, assignment.code)
        trial = Trial(assignment, channel, device)
        channel.send(started_event(assignment, device, imports))
        outcome = outcome_of(program, trial, assignment)
        if constraints is not None and assignment.rank == 0:
            outcome = _with_constraints(outcome, constraints, trial, assignment)
        trial.report_last()
        outcome = with_unused(outcome, trial)
        send_usage(channel, began_s)
        channel.send(replace(outcome, late_prune_answers=trial.late_prune_answers))
        fail_point("attempt.after-outcome")
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if trial is not None and not channel.is_truncated:
            trial.report_last()
            send_usage(channel, began_s)
            if assignment.limits.on_timeout == "finish":
                _send_value(trial, constraints, assignment, channel)
        return 143
    except Exception as error:  # noqa: BLE001 - any error before user code runs is reported
        channel.send(_failed(error, assignment))
    finally:
        _flush()
    return 0


def send_usage(channel: Channel, began_s: float) -> None:
    """Send what the process has used, unless it is too short for a sample of the slot."""
    try:
        if time.monotonic() - began_s < MEASURED_S:
            return
        used, memory = own_totals(), attempt_resource_usage.resident("self")
    except Exception:  # noqa: BLE001 - whatever user code has replaced, its result counts
        return
    channel.send(FinalUsage(used.cpu_s, used.read_bytes, used.written_bytes, memory.now, memory.highest, memory.files))


def started_event(assignment: Assignment, device: torch.device, imports: ImportTimes) -> Started:
    """The event that tells the slot that user code starts."""
    return Started(
        assignment.key,
        pid=os.getpid(),
        at=time.time(),
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        torch_device=str(device),
        import_s=imports.total_s,
        imports=dict(itertools.islice(imports.slowest.items(), MAX_IMPORTS)),
    )


def outcome_of(program: Callable[[Trial], Any], trial: Trial, assignment: Assignment) -> ReportedOutcome:
    """Run the program; its outcome, also if user code raises."""
    early, interval = trial.early_finish, trial.interval_end
    try:
        result = program(trial)
    except _Terminated:
        raise
    except TrialStopped:
        return _finished_early(trial, assignment)
    except IntervalEnded:
        return interval.outcome()
    except SystemExit as error:
        trial.report_last()
        _flush()
        os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        if early.decided:  # raised by a handler of `TrialStopped` in user code
            print(format_traceback(error), end="", file=sys.stderr)
            return _finished_early(trial, assignment)
        if interval.ended:  # raised by a handler of `IntervalEnded` in user code
            print(format_traceback(error), end="", file=sys.stderr)
            return interval.outcome()
        if user_function_runner.is_pruned(error):
            return ReportedOutcome(TrialState.PRUNED)
        return _failed(error, assignment)
    if early.decided:
        return _finished_early(trial, assignment)
    if interval.ended:
        return interval.outcome()
    if assignment.rank > 0:
        return ReportedOutcome(TrialState.FINISHED)  # the result is that of rank 0
    try:
        returned = early.reduced_values(None) if result is None else result
        values = returned_values(returned, assignment.objectives)
        if remark := early.remark_on(values):
            print(f"podium: {remark}", file=sys.stderr)
        return ReportedOutcome(TrialState.FINISHED, values=values, message=early.reason, remark=remark[:MAX_MESSAGE])
    except BadReportError as error:
        return _failed(error, assignment)


def _finished_early(trial: Trial, assignment: Assignment) -> ReportedOutcome:
    """The outcome of a trial that met a condition of `stop`."""
    try:
        return trial.early_finish.outcome()
    except BadReportError as error:
        return _failed(error, assignment)


def _send_value(
    trial: Trial, constraints: constraint_function.Evaluate | None, assignment: Assignment, channel: Channel
) -> None:
    """Send the current value at the time limit, after the constraints; the failure if these cannot be evaluated."""
    values = trial.early_finish.values
    if constraints is not None and values is not None:
        try:
            constraints(trial, TrialState.FINISHED, values)
        except BaseException as error:  # noqa: BLE001 - user code may raise anything
            channel.send(_failed(error, assignment))
            constraints = None
    trial.early_finish.send_value(constrained=constraints is not None)


def with_unused(outcome: ReportedOutcome, trial: Trial) -> ReportedOutcome:
    """Report enqueued values that were not used: in the log, and in the message of a trial that counts."""
    unused = trial.unused_enqueued
    if not unused:
        return outcome
    remark = f"enqueued, but not suggested by the code, so without effect: {', '.join(unused)}"
    print(f"podium: {remark}", file=sys.stderr)
    if outcome.state not in COUNTED_TRIAL_STATES:
        return outcome
    return replace(outcome, remark="; ".join(filter(None, (outcome.remark, remark)))[:MAX_MESSAGE])


def _with_constraints(
    outcome: ReportedOutcome, constraints: constraint_function.Evaluate, trial: Trial, assignment: Assignment
) -> ReportedOutcome:
    """The outcome after the constraints were sent. If they cannot be evaluated, the trial has failed."""
    if outcome.state not in COUNTED_TRIAL_STATES:
        return outcome
    try:
        constraints(trial, outcome.state, outcome.values)
    except _Terminated:
        raise
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        return _failed(error, assignment)
    return outcome


def _failed(error: BaseException, assignment: Assignment) -> ReportedOutcome:
    cause, message, interrupted = cause_of(error), f"{type(error).__name__}: {exception_text(error)}", False
    if disk_is_full(error):
        cause, message, interrupted = disk_full_cause.classify_full_disk(error, message, assignment)
    if isinstance(error, ScriptFailedError):
        traceback = error.tail  # already in the log
    else:
        traceback = format_traceback(error)
        print(traceback, end="", file=sys.stderr)
    return ReportedOutcome(
        TrialState.FAILED,
        cause=cause,
        message=message[:MAX_MESSAGE],
        traceback=traceback[-MAX_TRACEBACK:],
        interrupted=interrupted,
    )


def _on_sigterm(*_: object) -> NoReturn:
    raise _Terminated


def open_streams() -> None:
    """Open the standard streams of attempts, once; in the process template, or in a fork server if that has failed.

    Whether a stream can seek is determined when it is opened, so they are opened on a pipe, as attempts have one.
    """
    if _streams:
        return
    reading, writing = os.pipe()
    own = [os.dup(number) for number in (0, 1, 2)]
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        for source, target in ((null, 0), (writing, 1), (writing, 2)):
            os.dup2(source, target)
        reader = os.fdopen(0, closefd=False)
        writers = [os.fdopen(number, "w", buffering=1, errors="backslashreplace", closefd=False) for number in (1, 2)]
        _streams.extend((reader, *writers))
    finally:
        for source, target in zip(own, (0, 1, 2), strict=True):
            os.dup2(source, target)
        for descriptor in (reading, writing, null, *own):
            os.close(descriptor)


def prepare() -> None:
    """Do once what every attempt would do again; called by the fork server, before it forks."""
    open_streams()
    sys.stdin, sys.stdout, sys.stderr = _streams
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    faulthandler.enable()
    _log_handler.setStream(sys.stderr)
    forked_process_logging.log_to(_log_handler)


def _set_up_process(assignment: Assignment, log: int) -> None:
    """Set the working directory, temporary directory, log, environment and number of threads of this process."""
    directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
    for target in (1, 2):
        os.dup2(log, target)
    os.close(log)
    os.chdir(directory.work)
    set_thread_pools(set_environment(assignment, directory.temporary))


def set_environment(assignment: Assignment, temporary: Path) -> int:
    """Set the environment variables of this process, and write the files that they name; returns the thread count."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    threads = assignment.threads or 1
    os.environ.update(thread_count_variables(threads))
    if assignment.program.get("function") is not None:
        own = environment_of_function(assignment.program, assignment.params, temporary / "args.json")
        os.environ.update(own)
        os.environ.update(wandb_variables(assignment.params, temporary, os.environ))
        threads = int(number) if (number := own.get("OMP_NUM_THREADS", "")).isdecimal() else threads
    return max(1, threads)


def check_device(expected: DeviceView, assignment: Assignment) -> torch.device:
    """The one device of this slot, checked and limited to the share of its memory before user code runs.

    Raises `PinningError`.
    """
    if assignment.gang is not None:
        return rank_setup.check_devices(assignment.gang, expected)
    import torch  # already imported by the fork server

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible != expected.visible:
        raise PinningError(
            f"pinning failed: the process sees devices {visible!r}, but its slot has {expected.visible!r}"
        )
    if expected.uuid is None:
        return torch.device("cpu")
    gpu_memory_limit.limit(assignment.share)
    if torch.cuda.device_count() != 1:
        raise PinningError(f"pinning failed: the process sees {torch.cuda.device_count()} GPUs, expected one")
    gpu_memory_limit.limit_here(assignment.share)
    if expected.uuid.startswith(MIG):
        return torch.device("cuda", 0)  # the only one that is visible; PyTorch may know the UUID of its GPU instead
    uuid = str(torch.cuda.get_device_properties(0).uuid)
    if uuid.removeprefix("GPU-") != expected.uuid.removeprefix("GPU-"):
        raise PinningError(f"pinning failed: the process sees GPU {uuid}, but its slot has {expected.uuid}")
    return torch.device("cuda", 0)


def seed_generators(assignment: Assignment, device: torch.device) -> None:
    """Seed the generators of Python, torch and, if it is imported, numpy."""
    import torch  # already imported by the fork server

    random.seed(assignment.seed)
    torch.default_generator.manual_seed(assignment.seed)  # torch.manual_seed seeds every backend: 0.6 ms
    if device.type == "cuda":
        torch.cuda.manual_seed(assignment.seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(assignment.seed % 2**32)


def load_program(assignment: Assignment) -> Callable[[Trial], Any]:
    """The program of the sweep as a function of the trial. Raises `UserCodeError`, and any error of its import."""
    program = assignment.program
    if program.get("function") is not None:
        sink = WandbSink()
        sink.install(assignment.objectives)
        function = user_function_runner.load(program, assignment.code)
        return lambda trial: sink.run(function, trial)
    if program.get("command") is not None:
        return script_runner.program(program, assignment.code, assignment.limits.grace_s)
    training = importlib.import_module("podium.sweep.training.fit")
    fit: Callable[[Trial], Any] = training.program(program, assignment.split)
    return fit


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
