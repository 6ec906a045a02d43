"""Runs an unchanged script as the program of a trial, and collects its metrics; trial process.

The script is a child of the trial process in its own process group, with the trial's device, working directory and
temporary directory. It runs in a copy of the code folder, so that relative paths work and its files are removed with
the trial. Its output is forwarded to the trial's log immediately.
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

from podium.sweep.spec.command_macros import MacroValues, expand_command, expand_variables
from podium.sweep.spec.metric_extraction import MetricExtractor
from podium.sweep.trial_process import artifacts
from podium.sweep.trial_process.logged_images import ScriptImages
from podium.sweep.trial_process.script_interval import ScriptInterval
from podium.sweep.trial_process.script_metrics_file import JsonLines
from podium.sweep.trial_process.script_output_lines import LineSplitter
from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.trial_process.wandb_environment import wandb_variables, with_hook
from podium.sweep.values.errors import BadReportError, ScriptFailedError, UserCodeError

MARGIN_S = 1.0  # the part of the grace period in which a stopped trial saves artifacts and sends its value, at most
POLL_S = 0.1  # interval between reads of the metrics file
PATTERN_S = 1.0  # time limit of all patterns on one line
TAIL_BYTES = 4096  # of standard error, in the message of a failure
_READ_BYTES = 64 << 10
_PIPE_READS = 16  # reads that empty the largest pipe: 1 MB, of /proc/sys/fs/pipe-max-size


def program(spec: Mapping[str, Any], code: str | None, grace_s: float) -> Callable[[Trial], dict[str, float] | None]:
    """The script of a sweep as a function of the trial, which returns the last value of each metric."""
    return lambda trial: _run(trial, spec, code, grace_s)


def _run(trial: Trial, spec: Mapping[str, Any], code: str | None, grace_s: float) -> dict[str, float] | None:
    """Raises `UserCodeError` if the script cannot start, `ScriptFailedError`, `BadReportError` and `Pruned`."""
    if code is not None:
        shutil.copytree(code, trial.dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    metrics_file = trial.directory.temporary / "metrics.jsonl"
    environment = {**os.environ, **script_variables(trial, metrics_file)}
    json_file = trial.directory.temporary / "args.json"
    meaning = MacroValues(trial.params, sys.executable, spec["script"] or "", json_file, environment)
    own = trial.interval_end.interval
    interval = None if own is None else ScriptInterval(trial, own)
    if interval is not None:
        environment |= interval.variables()
    environment |= expand_variables(spec["env"], meaning)
    environment |= wandb_variables(trial.params, trial.directory.temporary, environment)
    process = _start(expand_command(spec["command"], meaning), with_hook(environment), trial.dir)
    extractor = MetricExtractor(spec["metrics"], 0 if interval is None else interval.first_step)
    collector = MetricCollector(trial, extractor, JsonLines(metrics_file))
    images = ScriptImages(Path(environment["PODIUM_ARTIFACTS"]), trial.log_image)
    script = Script(process, collector, images.read_new if trial.rank == 0 else lambda: None)
    try:
        script.run()
    finally:
        script.end(grace_s - min(MARGIN_S, grace_s / 2))  # the slot kills this process at the end of the grace period
        if trial.rank == 0:
            images.read_new()
            artifacts.collect(Path(environment["PODIUM_ARTIFACTS"]), trial.save_artifact)
    trial.report_last()  # `_check_status` may end this process by a signal
    _check_status(process, script.tail)
    if interval is not None:
        interval.end()
        if not collector.last:
            return None  # there was nothing left to train: the value of the checkpoint counts
    for name in trial.objectives if trial.rank == 0 else ():
        if name not in collector.last:
            raise BadReportError(_no_value(name))
    if trial.rank > 0:
        return {}
    chosen: dict[str, float] = trial.early_finish.reduced_values(collector.last)
    return chosen


def script_variables(trial: Trial, metrics_file: Path) -> dict[str, str]:
    """The environment variables that a script has in addition to those of every trial."""
    here = str(Path(sys.executable).parent)  # so that `python` is found without an activated environment
    return {
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
        raise UserCodeError("program.command: is empty in this trial")
    own = folder / words[0]
    if "/" in words[0] and own.is_file():
        own.chmod(0o755)  # a bundle does not store permissions
    print("$", *words, flush=True)
    try:
        return subprocess.Popen(
            words, env=environment, cwd=folder, process_group=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise UserCodeError(f"program.command: cannot start {words[0]!r}: {error.strerror}") from None
    except ValueError as error:  # a NUL
        raise UserCodeError(f"program.command: {error}") from None


def _check_status(process: subprocess.Popen[bytes], tail: str) -> None:
    """Raise `ScriptFailedError` for a nonzero status. End this process by the signal that ended the script."""
    status = process.returncode
    if status < 0:
        sys.stdout.flush()
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if status:
        raise ScriptFailedError(status, tail)


def _no_value(metric: str) -> str:
    return (
        f"the script ended without a value of {metric!r}; if it prints one, add it to program.metrics, as "
        f"{{{metric}: auto}} or with a pattern; otherwise call wandb.log, or append lines like "
        f'{{"step": 1, "{metric}": 0.5}} to the file that $PODIUM_METRICS names'
    )


class MetricCollector:
    """Reports the metrics of a script, and requests whether to prune it."""

    def __init__(self, trial: Trial, patterns: MetricExtractor, file: JsonLines) -> None:
        self._trial = trial
        self._patterns = patterns
        self._file = file
        self.last: dict[str, float] = {}

    def add_output(self, lines: Iterator[str]) -> bool:
        """Report the metrics in lines of output; returns whether to prune."""
        self._trial.heartbeat()
        reported = False
        if not self._patterns:
            return False
        for line in lines:
            with _within(PATTERN_S, line):
                found = self._patterns.extract(line)
            for step, name, value in found:
                reported |= self._report(step, {name: value})
        return reported and self._trial.should_prune()

    def read_file(self) -> bool:
        """Report the new lines in the metrics file; returns whether to prune."""
        return self._report_all(self._file.read_new()) and self._trial.should_prune()

    def finish_file(self, *, failed: bool) -> None:
        """Report the rest of the metrics file; a failed script may have left a truncated line."""
        self._report_all(self._file.read_new())
        with contextlib.suppress(*[BadReportError] if failed else []):
            self._report_all(self._file.flush())

    def _report_all(self, points: Iterator[tuple[int | None, dict[str, float]]]) -> bool:
        reported = False
        for step, values in points:
            if step is None:
                self.last |= values
            else:
                reported |= self._report(step, values)
        return reported

    def _report(self, step: int, values: Mapping[str, float]) -> bool:
        """Report metrics; returns whether the metric for pruning is among them."""
        self.last |= values
        others = {name: value for name, value in values.items() if name != self._trial.metric}
        if others:
            self._trial.log(others, step)
        if self._trial.metric not in values:
            return False
        self._trial.report(values[self._trial.metric], step)
        return True


class Script:
    """The process of a script and its output."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        collector: MetricCollector,
        read_images: Callable[[], None] = lambda: None,
    ) -> None:
        """`read_images` is called with each read of the metrics file."""
        assert process.stdout is not None and process.stderr is not None
        self._process = process
        self._collector = collector
        self._read_images = read_images
        self._exited = os.pidfd_open(process.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._exited, selectors.EVENT_READ)
        for stream, target in ((process.stdout, 1), (process.stderr, 2)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (target, LineSplitter()))
        self._tail = b""

    @property
    def tail(self) -> str:
        """The end of the standard error."""
        return self._tail.decode(errors="replace").strip()

    def run(self) -> None:
        """Forward the output and collect the metrics until the script exits. Raises `Pruned`."""
        polled_s = 0.0
        while True:
            ready = self._selector.select(POLL_S)
            prune = False
            for lines in self._forward(ready):
                prune |= self._collector.add_output(lines)
            if time.monotonic() - polled_s >= POLL_S:
                polled_s = time.monotonic()
                prune |= self._collector.read_file()
                self._read_images()
            if self._process.poll() is not None:
                self._finish()
                return
            if prune:
                raise Pruned

    def end(self, grace_s: float) -> None:
        """Terminate the script, and kill its process group when it has exited or `grace_s` is over."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            end_s = time.monotonic() + grace_s
            while self._process.poll() is None and (left_s := end_s - time.monotonic()) > 0:
                for _ in self._forward(self._selector.select(min(left_s, POLL_S))):
                    pass
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _finish(self) -> None:
        """Kill what the script left running, and read what remains in the pipes and the metrics file."""
        self._signal(signal.SIGKILL)
        for _ in range(_PIPE_READS):
            for lines in (remaining := list(self._forward(self._selector.select(0)))):
                self._collector.add_output(lines)
            if not remaining:
                break
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                self._collector.add_output(key.data[1].flush())
        self._collector.finish_file(failed=self._process.returncode != 0)

    def _forward(self, ready: list[tuple[selectors.SelectorKey, int]]) -> Iterator[Iterator[str]]:
        """Write available output to the log; yields the completed lines."""
        for key, _ in ready:
            if key.data is None:  # the process has exited
                continue
            target, lines = key.data
            try:
                content = os.read(key.fd, _READ_BYTES)
            except BlockingIOError:
                continue
            if not content:
                self._selector.unregister(key.fileobj)
                yield lines.flush()
                continue
            os.write(target, content)
            if target == 2:
                self._tail = (self._tail + content)[-TAIL_BYTES:]
            yield lines.feed(content)


@contextlib.contextmanager
def _within(seconds: float, line: str) -> Iterator[None]:
    """Interrupt patterns with catastrophic backtracking: the `re` module checks for signals."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise BadReportError(
            f"program.metrics: matching the line {line[:200]!r} took longer than {seconds:g} s; simplify the patterns"
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
