"""Inside the trial process: from the assignment to the outcome, and the `trial` handle that user code gets.

Runs in the process that the fork server forked for one attempt, and nowhere else. Never imports api, db, optuna,
sqlalchemy or fastapi, so that a user's own modules of those names work.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import logging
import math
import os
import random
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sweep.errors import BadReportError, UserCodeError
from sweep.files import sha256_of
from sweep.layout import AttemptDirectory
from sweep.trial import Assignment, Cause, Params, Scalar

if TYPE_CHECKING:
    import torch

PRUNE_ANSWER_S = 1.0
_USER_MODULES_RESERVED = ("sweep", "ensemble")


class Pruned(Exception):  # noqa: N818 - it is no error, and `raise trial.Pruned` is how people know it
    """Raised by user code to end a trial that `should_prune()`."""


class _Stopped(BaseException):
    """The slot asked this process to end."""


class Channel:
    """The socket to the slot: one JSON document a line, both ways."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""

    def send(self, **message: Any) -> None:
        self._connection.settimeout(None)
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next message, or None when none came in time or the slot is gone."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            self._connection.settimeout(left)
            try:
                content = self._connection.recv(65536)
            except TimeoutError:
                return None
            if not content:
                return None
            self._buffer += content
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message


class Trial:
    """What user code gets: Optuna's `suggest_*`, `report` and `should_prune`, and what only Podium knows."""

    Pruned = Pruned

    def __init__(self, assignment: Assignment, channel: Channel, device: torch.device) -> None:
        self._assignment = assignment
        self._channel = channel
        self._last_step: int | None = None
        self.device = device
        self.directory = AttemptDirectory(Path(assignment.directory))
        self.late_prune_answers = 0

    @property
    def number(self) -> int:
        """The number of this trial in its sweep, from 0."""
        return self._assignment.number

    @property
    def params(self) -> Params:
        """The values chosen for this trial, by parameter."""
        return dict(self._assignment.params)

    @property
    def seed(self) -> int:
        """The seed that Python, numpy and torch were given."""
        return self._assignment.seed

    @property
    def metric(self) -> str:
        """The name of the metric that `report` reports."""
        return self._assignment.metric

    @property
    def dir(self) -> Path:
        """The working directory; it goes when the process ends."""
        return self.directory.work

    @property
    def data_cache(self) -> Path:
        """Where this machine keeps its memory-mapped data sets."""
        return Path(self._assignment.data_cache)

    def report(self, value: float, step: int) -> None:
        """Report the sweep's metric at `step`. Raises `BadReportError` unless it is a finite number."""
        number = _number(value, f"report(value={value!r})")
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise BadReportError(f"report(step={step!r}): a step is a whole number from 0")
        self._last_step = step
        self._channel.send(kind="reported", step=step, value=number, at=time.time())

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Record other metrics at `step`; NaN and infinities are left out, since a curve cannot show them."""
        numbers = {name: float(value) for name, value in values.items()}
        finite = {name: number for name, number in numbers.items() if math.isfinite(number)}
        self._channel.send(kind="logged", step=int(step), values=finite, at=time.time())

    def should_prune(self) -> bool:
        """Whether to give up, judged by the last report; an answer later than 1 s counts as no."""
        if not self._assignment.prunable or self._last_step is None:
            return False
        end = time.monotonic() + PRUNE_ANSWER_S
        while (left := end - time.monotonic()) > 0:
            message = self._channel.receive(left)
            if message is None:
                break
            if message["kind"] == "answer" and message["step"] == self._last_step:
                return bool(message["prune"])
        self.late_prune_answers += 1
        return False

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """The planned value of `name`, checked against these bounds."""
        return float(self._within(name, low, high))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """The planned value of `name`, checked against these bounds."""
        return int(self._within(name, low, high))

    def suggest_categorical(self, name: str, choices: list[Scalar]) -> Scalar:
        """The planned value of `name`, checked against these choices."""
        value = self._planned(name)
        if value not in choices:
            raise UserCodeError(f"{name} is {value!r} in this sweep, not one of {choices!r}")
        return value

    def save_model(self, model: torch.nn.Module, metadata: Mapping[str, str] | None = None) -> None:
        """Keep the weights of `model` as safetensors, whole or not at all: now it can stand on the podium."""
        from sweep import checkpoints  # torch: only in this process

        checkpoints.save_weights(model, self.directory.model, dict(metadata or {}))
        self.keep(self.directory.model)

    def keep(self, path: Path) -> None:
        """Say that a file in the attempt's folder is complete and to be kept."""
        name = str(path.relative_to(self.directory.root))
        self._channel.send(kind="saved", name=name, sha256=sha256_of(path), size_bytes=path.stat().st_size)

    def _planned(self, name: str) -> Scalar:
        if name not in self._assignment.params:
            known = ", ".join(sorted(self._assignment.params))
            raise UserCodeError(f"the sweep file has no parameter {name!r} (it has: {known}); add it there")
        return self._assignment.params[name]

    def _within(self, name: str, low: float, high: float) -> float:
        value = self._planned(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise UserCodeError(f"{name} is {value!r} in this sweep, not within {low!r} and {high!r}")
        return value


def run(connection: socket.socket) -> int:
    """Run the one attempt that the slot sends over `connection`; returns the exit status of the process."""
    channel = Channel(connection)
    message = channel.receive(None)
    if message is None:
        return 0
    assignment = Assignment.from_dict(message["assignment"])
    signal.signal(signal.SIGTERM, _stop)
    try:
        _enter_namespace(assignment)
        device = _check_device(message["device"])
        _seed(assignment)
        program = _load_program(assignment)
        trial = Trial(assignment, channel, device)
        channel.send(
            kind="started",
            pid=os.getpid(),
            at=time.time(),
            visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
            torch_device=str(device),
        )
        outcome = _outcome(lambda: program(trial))
        channel.send(kind="outcome", late_prune_answers=trial.late_prune_answers, **outcome)
    except _Stopped:
        return 143
    except Exception as error:  # noqa: BLE001 - whatever went wrong before user code ran is told, not lost
        channel.send(kind="outcome", **_failed(error))
    finally:
        _flush()
    return 0


def _outcome(program: Callable[[], Any]) -> dict[str, Any]:
    try:
        value = program()
    except Pruned:
        return {"state": "pruned"}
    except _Stopped:
        raise
    except SystemExit as error:
        _flush()
        os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        traceback.print_exc()
        return _failed(error)
    try:
        return {"state": "finished", "value": _number(value, f"the function returned {value!r}")}
    except BadReportError as error:
        return _failed(error)


def _failed(error: BaseException) -> dict[str, Any]:
    text = "".join(traceback.format_exception(error))
    return {
        "state": "failed",
        "cause": _cause(error).value,
        "message": f"{type(error).__name__}: {error}"[:2000],
        "traceback": text[-20_000:],
    }


def _cause(error: BaseException) -> Cause:
    if isinstance(error, NonFiniteError):
        return Cause.NON_FINITE
    if isinstance(error, BadReportError):
        return Cause.BAD_REPORT
    if isinstance(error, MemoryError):
        return Cause.HOST_MEMORY
    if type(error).__name__ == "OutOfMemoryError":
        return Cause.DEVICE_MEMORY
    return Cause.USER_ERROR


class NonFiniteError(BadReportError):
    """The trial reported NaN or an infinity."""


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadReportError(f"{what}: not a number; return or report one float") from None
    if not math.isfinite(number):
        raise NonFiniteError(f"{what}: not finite")
    return number


def _stop(*_: object) -> NoReturn:
    raise _Stopped


def _enter_namespace(assignment: Assignment) -> None:
    """Own working directory, temporary directory, log, threads; what the slot masked stays masked."""
    directory = AttemptDirectory(Path(assignment.directory))
    log = os.open(directory.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.stdin = open(0)  # noqa: SIM115 - lives as long as the process
    sys.stdout = open(1, "w", buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
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
        raise UserCodeError(f"pinning failed: sees devices {visible!r}, the slot has {expected['visible']!r}")
    if expected["uuid"] is None:
        return torch.device("cpu")
    if torch.cuda.device_count() != 1:
        raise UserCodeError(f"pinning failed: sees {torch.cuda.device_count()} GPUs instead of one")
    uuid = str(torch.cuda.get_device_properties(0).uuid)
    if uuid.removeprefix("GPU-") != expected["uuid"].removeprefix("GPU-"):
        raise UserCodeError(f"pinning failed: sees GPU {uuid}, the slot has {expected['uuid']}")
    return torch.device("cuda", 0)


def _seed(assignment: Assignment) -> None:
    import torch  # already in the template

    random.seed(assignment.seed)
    torch.manual_seed(assignment.seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(assignment.seed % 2**32)


def _load_program(assignment: Assignment) -> Callable[[Trial], Any]:
    program = assignment.program
    if program.get("function") is None:
        training = importlib.import_module("sweep.training")
        fit: Callable[[Trial], Any] = training.program(program, assignment.split)
        return fit
    module_name, _, function_name = program["function"].partition(":")
    if module_name.split(".")[0] in _USER_MODULES_RESERVED:
        raise UserCodeError(f"{module_name}: the names sweep and ensemble are Podium's own; rename your module")
    if assignment.code is not None:
        sys.path.insert(0, assignment.code)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.split(".")[0]:
            raise
        raise UserCodeError(f"there is no module {module_name!r} in the code folder") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UserCodeError(f"{module_name}.py has no function {function_name!r}")
    user_function: Callable[[Trial], Any] = function
    return user_function


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
