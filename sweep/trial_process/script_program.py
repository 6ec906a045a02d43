"""Runs an unchanged script as the program of a trial, and hears its metrics; trial process.

The script is a child of the trial process, in a process group of its own, and sees what a trial sees: one device, its
own working and temporary directories. It runs in a copy of the code folder, so that relative paths work and what it
writes goes with the trial. All that it prints goes on to the trial's log as it comes.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from podium.sweep.spec.command_line import Meaning, expanded, variables_of
from podium.sweep.spec.metric_patterns import Patterns
from podium.sweep.trial_process import artifacts
from podium.sweep.trial_process.printed_metrics import JsonLines, Lines
from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.trial_process.wandb_run import wandb_variables, with_hook
from podium.sweep.values.errors import BadReportError, ScriptFailedError, UserCodeError

MARGIN_S = 1.0  # of the grace at most, in which a trial that is stopped keeps artifacts and sends its value
LOOK_S = 0.1  # how often the file of metrics is read
PATTERN_S = 1.0  # in which all patterns must have been tried on a line
TAIL_BYTES = 4096  # of the standard error that a failure shows
_READ_BYTES = 64 << 10
_PIPE_READS = 16  # in which the largest pipe (1 MB, of /proc/sys/fs/pipe-max-size) is empty, if nobody fills it again


def program(spec: Mapping[str, Any], code: str | None, grace_s: float) -> Callable[[Trial], dict[str, float]]:
    """The script of a sweep as a function of the trial: the last value of each metric."""
    return lambda trial: _run(trial, spec, code, grace_s)


def _run(trial: Trial, spec: Mapping[str, Any], code: str | None, grace_s: float) -> dict[str, float]:
    """Raises `UserCodeError` when it cannot start or fails, `BadReportError`, and `Pruned`."""
    if code is not None:
        shutil.copytree(code, trial.dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    metrics_file = trial.directory.temporary / "metrics.jsonl"
    environment = _environment(trial, metrics_file)
    json_file = trial.directory.temporary / "args.json"
    meaning = Meaning(trial.params, sys.executable, spec["script"] or "", json_file, environment)
    environment |= variables_of(spec["env"], meaning)
    environment |= wandb_variables(trial.params, trial.directory.temporary, environment)
    process = _start(expanded(spec["command"], meaning), with_hook(environment), trial.dir)
    listener = Listener(trial, Patterns(spec["metrics"]), JsonLines(metrics_file))
    script = Script(process, listener)
    try:
        script.follow()
    finally:
        script.end(grace_s - min(MARGIN_S, grace_s / 2))  # the slot kills this process when the whole grace is over
        artifacts.collect(Path(environment["PODIUM_ARTIFACTS"]), trial.save_artifact)
    trial.report_last()  # a script that died by a signal takes this process along
    _judge(process, script.tail)
    for name in trial.objectives:
        if name not in listener.last:
            raise BadReportError(_nothing_said(name))
    chosen: dict[str, float] = trial.early_finish.chosen(listener.last)
    return chosen


def _environment(trial: Trial, metrics_file: Path) -> dict[str, str]:
    here = str(Path(sys.executable).parent)  # where `python` is, whether or not somebody has activated it
    return {
        **os.environ,
        "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
        "PODIUM_METRICS": str(metrics_file),
        "PODIUM_OBJECTIVES": json.dumps([*trial.objectives]),
        "PODIUM_PARAMS": json.dumps(trial.params),
        "PODIUM_SEED": str(trial.seed),
        "PODIUM_TRIAL": str(trial.number),
        "PODIUM_ARTIFACTS": str(artifacts.folder_of_script(trial.directory)),
    }


def _start(words: list[str], environment: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    if not words:
        raise UserCodeError("program.command: nothing is left of it in this trial")
    own = folder / words[0]
    if "/" in words[0] and own.is_file():
        own.chmod(0o755)  # a bundle has no permissions
    print("$", *words, flush=True)
    try:
        return subprocess.Popen(
            words, env=environment, cwd=folder, process_group=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise UserCodeError(f"program.command: cannot start {words[0]!r}: {error.strerror}") from None
    except ValueError as error:  # a NUL
        raise UserCodeError(f"program.command: {error}") from None


def _judge(process: subprocess.Popen[bytes], tail: str) -> None:
    """Raises for a script that failed; one that died by a signal takes this process along, so that all see how."""
    status = process.returncode
    if status < 0:
        sys.stdout.flush()
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if status:
        raise ScriptFailedError(status, tail)


def _nothing_said(metric: str) -> str:
    return (
        f"the script ended without a value of {metric!r}; if it prints one, add it to program.metrics, as "
        f"{{{metric}: auto}} or by a pattern; or have it call wandb.log, or append lines like "
        f'{{"step": 1, "{metric}": 0.5}} to the file that $PODIUM_METRICS names'
    )


class Listener:
    """Turns what a script says into reports, and asks whether it should give up."""

    def __init__(self, trial: Trial, patterns: Patterns, file: JsonLines) -> None:
        self._trial = trial
        self._patterns = patterns
        self._file = file
        self.last: dict[str, float] = {}

    def hear(self, lines: Iterator[str]) -> bool:
        """Lines that were printed; whether to give up."""
        self._trial.heartbeat()
        reported = False
        if not self._patterns:
            return False
        for line in lines:
            with _within(PATTERN_S, line):
                found = self._patterns.found_in(line)
            for step, name, value in found:
                reported |= self._note(step, {name: value})
        return reported and self._trial.should_prune()

    def look(self) -> bool:
        """New lines in the file of metrics; whether to give up."""
        return self._noted(self._file.new()) and self._trial.should_prune()

    def look_at_the_rest(self, *, failed: bool) -> None:
        """All that is left in the file, now that the script has ended; one that failed may have left half a line."""
        self._noted(self._file.new())
        with contextlib.suppress(*[BadReportError] if failed else []):
            self._noted(self._file.rest())

    def _noted(self, said: Iterator[tuple[int | None, dict[str, float]]]) -> bool:
        reported = False
        for step, values in said:
            if step is None:
                self.last |= values
            else:
                reported |= self._note(step, values)
        return reported

    def _note(self, step: int, values: Mapping[str, float]) -> bool:
        """Whether the metric that pruning goes by is among the values."""
        self.last |= values
        others = {name: value for name, value in values.items() if name != self._trial.metric}
        if others:
            self._trial.log(others, step)
        if self._trial.metric not in values:
            return False
        self._trial.report(values[self._trial.metric], step)
        return True


class Script:
    """A script that runs, or has ended."""

    def __init__(self, process: subprocess.Popen[bytes], listener: Listener) -> None:
        assert process.stdout is not None and process.stderr is not None
        self._process = process
        self._listener = listener
        self._ended = os.pidfd_open(process.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ended, selectors.EVENT_READ)
        for stream, target in ((process.stdout, 1), (process.stderr, 2)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (target, Lines()))
        self._tail = b""

    @property
    def tail(self) -> str:
        """The end of its standard error."""
        return self._tail.decode(errors="replace").strip()

    def follow(self) -> None:
        """Pass on what it prints, and hear it, until it has ended. Raises `Pruned`."""
        looked_s = 0.0
        while True:
            ready = self._selector.select(LOOK_S)
            gives_up = False
            for lines in self._passed_on(ready):
                gives_up |= self._listener.hear(lines)
            if time.monotonic() - looked_s >= LOOK_S:
                looked_s = time.monotonic()
                gives_up |= self._listener.look()
            if self._process.poll() is not None:
                self._hear_the_rest()
                return
            if gives_up:
                raise Pruned

    def end(self, grace_s: float) -> None:
        """Ask it to end, if it has not; kill its process group when its grace is over, or it has ended."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            end_s = time.monotonic() + grace_s
            while self._process.poll() is None and (left_s := end_s - time.monotonic()) > 0:
                for _ in self._passed_on(self._selector.select(min(left_s, LOOK_S))):
                    pass
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _hear_the_rest(self) -> None:
        """What is still in its pipes: what it left running is killed, or, where that cannot be, not heard for long."""
        self._signal(signal.SIGKILL)
        for _ in range(_PIPE_READS):
            for lines in (heard := list(self._passed_on(self._selector.select(0)))):
                self._listener.hear(lines)
            if not heard:
                break
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                self._listener.hear(key.data[1].rest())
        self._listener.look_at_the_rest(failed=self._process.returncode != 0)

    def _passed_on(self, ready: list[tuple[selectors.SelectorKey, int]]) -> Iterator[Iterator[str]]:
        """Write what can be read to the log; the lines that it completes."""
        for key, _ in ready:
            if key.data is None:  # it has ended
                continue
            target, lines = key.data
            try:
                content = os.read(key.fd, _READ_BYTES)
            except BlockingIOError:
                continue
            if not content:
                self._selector.unregister(key.fileobj)
                yield lines.rest()
                continue
            os.write(target, content)
            if target == 2:
                self._tail = (self._tail + content)[-TAIL_BYTES:]
            yield lines.of(content)


@contextlib.contextmanager
def _within(seconds: float, line: str) -> Iterator[None]:
    """Stop a pattern that would go back and forth on a line for ever: it looks for signals now and then."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise BadReportError(f"the patterns of program.metrics take over {seconds:g} s on the line {line[:200]!r}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
