"""Programs that report and do not return by themselves: for the tests of `stop` and `limits.on_timeout`."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CURVE = (0.2, 0.9, 0.4, 0.6, 0.5)


def reports(trial: Any) -> float:
    """Never returns by itself."""
    for step in range(1_000_000):
        trial.report(CURVE[step % len(CURVE)], step)
        time.sleep(0.01)
    return -1.0


def reports_then_sleeps(trial: Any) -> float:
    for step, value in enumerate(CURVE):
        trial.report(value, step)
    time.sleep(1000)
    return -1.0


def reports_then_loops_in_c(trial: Any) -> float:
    for step, value in enumerate(CURVE):
        trial.report(value, step)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    ctypes.CDLL(None).pause()
    return -1.0


def reports_nothing(trial: Any) -> float:
    time.sleep(1000)
    return -1.0


def reports_much(trial: Any) -> float:
    """The best point is omitted from the thinned curve."""
    for step in range(20_000):
        trial.report(2.0 if step == 19_001 else step / 20_000, step)
    time.sleep(1000)
    return -1.0


def returns_nothing_after_reports(trial: Any) -> None:
    for step, value in enumerate(CURVE):
        trial.report(value, step)


def returns_its_own_value(trial: Any) -> float:
    returns_nothing_after_reports(trial)
    return 7.0


def yields(trial: Any) -> Iterator[float]:
    yield from CURVE


def yields_for_ever(trial: Any) -> Iterator[dict[str, float]]:
    for step in range(1_000_000):
        yield {"score": float(step), "training_iteration": step + 1}


def cleans_up(trial: Any) -> float:
    try:
        return reports(trial)
    finally:
        Path(trial.directory.root, "cleaned").write_text("yes")


def swallows(trial: Any) -> float:
    """Swallows every exception and signal: the slot has to kill it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            reports(trial)
        except BaseException:
            time.sleep(0.01)


def dies_after_the_decision(trial: Any) -> float:
    try:
        return reports(trial)
    except BaseException:
        os.kill(os.getpid(), signal.SIGKILL)
        raise


def logs_another_metric_first(trial: Any) -> float:
    for step in range(1_000_000):
        trial.log({"seen": 100.0 * step}, step)
        trial.report(CURVE[step % len(CURVE)], step)
    return -1.0


def logs_without_its_metric(trial: Any) -> float:
    for step in range(1_000_000):
        trial.log({"seen": 100.0 * step}, step)
    return -1.0


def has_two(trial: Any) -> tuple[float, float]:
    for step, value in enumerate(CURVE):
        trial.report(value, step)
        trial.log({"size": 10.0 + step}, step)
    time.sleep(1000)
    return (-1.0, -1.0)


def yields_samples_and_epochs(trial: Any) -> Iterator[dict[str, float]]:
    for epoch in range(1_000_000):
        yield {"score": float(epoch), "step": 1000 * epoch, "epoch": epoch, "training_iteration": epoch + 1}
