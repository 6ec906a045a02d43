"""Row 8: the ensemble of row 7 while one of its members is stopped, and its recovery.

Measured with a deadline of 200 ms, a quorum of two of three, and 16 clients in a closed loop: one member's process is
stopped (SIGSTOP), which no connection reveals. For some seconds from then on: the share of answered requests (by at
least two members); the latency of all requests; and, separately, the latency of requests that waited for the deadline,
minus the deadline. Podium's circuit breaker ensures that only the first few requests wait. Therefore there are many
short stops, each of a healthy member, and the figures of waiting requests cover all of them. Then SIGCONT, and the time
until a response has all three members again; then SIGKILL, and the same.

Ray Serve twice (see `benchmarks.ray_serve_baseline`): `gather`, as in its documentation of model composition, and
`wait`, which uses the replies available at the deadline. It has no circuit breaker, so one long stop is as informative
as many short ones. Not measured: the loss of a machine, a network partition, several members at once.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import load
from benchmarks.ensemble_servers import MEMBERS, QUORUM, Served, podium, ray_serve, train
from benchmarks.load import Answer, quantile_ms
from benchmarks.results import Figure, Row, at_least, at_most, ratio
from benchmarks.run_settings import Plan

CLIENTS = 16
DEADLINE_MS = 200.0
WAITED = 0.9  # of the deadline: timers fire slightly early
CALM_S = 1.0  # timeout of an expected event
TIMEOUT_S = 60.0
ANSWERED, ALL_P50, ALL_P99 = "answered", "p50", "p99"
WAITS, WAIT_P99, WAIT_WORST = "waited for the deadline, a stop", "their p99 above it", "their worst above it"
CONTINUED, REPLACED = "all three again after SIGCONT", "after SIGKILL"
UNITS = {
    ANSWERED: "%", ALL_P50: "ms", ALL_P99: "ms", WAITS: "requests", WAIT_P99: "ms", WAIT_WORST: "ms", CONTINUED: "s",
    REPLACED: "s",
}  # fmt: skip
Samples = Mapping[str, list[float]]


@dataclass(frozen=True, slots=True)
class PausedRuns:
    """How often a member is stopped, and for how long."""

    short: int
    short_s: float
    long_s: float


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 8."""
    ours, gather, wait = (defaultdict[str, list[float]](list) for _ in range(3))
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data_dir = Path(folder) / "data"
        models = train(data_dir, DEADLINE_MS)
        for _ in range(min(3, plan.repetitions)):
            with podium(data_dir, "between_graph") as served:
                one_round(served, _stops(plan), ours, plan, "Podium")
            for kind, samples in (("gather", gather), ("wait", wait)):
                if kind == "wait" or not plan.quick:
                    with ray_serve(models, kind, DEADLINE_MS, {}) as served:
                        one_round(served, replace(_stops(plan), short=0), samples, plan, f"Ray Serve, {kind}")
    return [_row(_figures(ours, ""), [*_figures(gather, "gather: "), *_figures(wait, "wait: ")], plan)]


def _stops(plan: Plan) -> PausedRuns:
    return PausedRuns(1, 0.5, 1.0) if plan.quick else PausedRuns(10, 0.7, 5.0)


def one_round(served: Served, stops: PausedRuns, samples: Samples, plan: Plan, name: str) -> None:
    """One repetition of one side: short stops, a long stop, a kill."""
    victim = served.members[-1]
    short = [answer for _ in range(stops.short) for answer in while_stopped(served, victim, stops.short_s)]
    until_all_answer(served)
    try:
        _, long = heard_while(served, victim, signal.SIGSTOP, CLIENTS, stops.long_s)
    finally:
        continued_s = until_back_s(served, victim, signal.SIGCONT)
    replaced_s = until_back_s(served, victim, signal.SIGKILL)
    found = {**_numbers(long, [*short, *long], stops.short + 1), CONTINUED: continued_s, REPLACED: replaced_s}
    for figure, value in found.items():
        samples[figure].append(value)
    plan.say(f"{name}: " + ", ".join(f"{figure} {value:.4g} {UNITS[figure]}" for figure, value in found.items()))


def while_stopped(served: Served, victim: int, seconds: float) -> list[Answer]:
    """The responses while a healthy member is stopped; it is continued afterwards."""
    until_all_answer(served)
    try:
        return heard_while(served, victim, signal.SIGSTOP, CLIENTS, seconds)[1]
    finally:
        os.kill(victim, signal.SIGCONT)


def heard_while(served: Served, victim: int, number: int, clients: int, seconds: float) -> tuple[float, list[Answer]]:
    """Signal a process under load; returns the time of the signal and all later responses, in order."""
    asking = served.start_asking(clients, CALM_S + seconds)
    time.sleep(CALM_S)
    signalled_s = time.monotonic()
    os.kill(victim, number)
    heard = (answer for answer in asking.wait().answers if answer.heard_s >= signalled_s)
    return signalled_s, sorted(heard, key=lambda answer: answer.heard_s)


def until_back_s(served: Served, victim: int, number: int) -> float:
    """Seconds from a signal until one client in a closed loop has a response from all members; it stops then.

    Raises `RuntimeError` if there is none within `TIMEOUT_S`.
    """
    asking = served.start_asking(1, CALM_S + TIMEOUT_S)
    time.sleep(CALM_S)
    signalled_s = time.monotonic()
    os.kill(victim, number)
    asking.end_when_all_answer(MEMBERS, signalled_s)
    answers = sorted(asking.wait().answers, key=lambda answer: answer.heard_s)
    whole = (answer for answer in answers if answer.asked_s >= signalled_s and answer.answered == MEMBERS)
    first = next(whole, None)
    if first is None:
        raise RuntimeError(f"not all members answered within {TIMEOUT_S:g} s after signal {number}")
    return first.heard_s - signalled_s


def until_all_answer(served: Served) -> None:
    """Wait until all members answer. Raises `RuntimeError` after a timeout."""
    end_s = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end_s:
        answers = load.ask(served.port, served.content, 1, CALM_S / 2).good
        if answers and answers[-1].answered == MEMBERS:
            return
    raise RuntimeError(f"not all members answer after {TIMEOUT_S:g} s")


def _numbers(long: Sequence[Answer], all_stops: Sequence[Answer], stops: int) -> dict[str, float]:
    """Figures of all requests in the long stop, and of the waiting requests in all stops."""
    good = [answer for answer in long if answer.status == 200 and answer.answered >= QUORUM]
    waits = [answer for answer in all_stops if answer.took_ms >= WAITED * DEADLINE_MS]
    return {
        ANSWERED: 100 * len(good) / len(long),
        ALL_P50: quantile_ms(long, 0.5),
        ALL_P99: quantile_ms(long, 0.99),
        WAITS: len(waits) / stops,
        WAIT_P99: quantile_ms(waits, 0.99) - DEADLINE_MS,
        WAIT_WORST: quantile_ms(waits, 1.0) - DEADLINE_MS,
    }


def _figures(samples: Samples, side: str) -> list[Figure]:
    return [Figure(side + name, UNITS[name], tuple(values)) for name, values in samples.items()]


def _row(ours: list[Figure], theirs: list[Figure], plan: Plan) -> Row:
    podium, peer = ({figure.name: figure for figure in figures} for figures in (ours, theirs))
    return Row(
        8, "the same with one member stopped (SIGSTOP), 16 clients, deadline 200 ms, quorum 2 of 3", ours,
        len(ours[0].samples),
        targets=(
            at_least(podium[ANSWERED], 100), at_most(podium[WAIT_P99], 5), at_most(podium[WAIT_WORST], 50),
        ),
        peer_name="Ray Serve, gather or wait with a timeout", peer=theirs,
        ratios={name: ratio(podium[name], peer["wait: " + name]) for name in (ALL_P50, ALL_P99)},
    )  # fmt: skip
