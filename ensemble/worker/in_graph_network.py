"""All networks of an ensemble and their combination as one program, each network on its device; in-graph worker.

Géron 2017, chapter 12, figure 12-12: one graph, one call, all predictions awaited. Networks of one architecture on one
device form a group. It is computed in a loop until its execution plans are benchmarked, and then by the fastest.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from podium.ensemble.scoring import combine
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.worker import plan_selection
from podium.ensemble.worker.architecture_groups import Group, PlacedNetwork, groups
from podium.ensemble.worker.execution_plans import GroupPlans, Plan
from podium.ensemble.worker.neural_network_interface import NetworkOutputs
from podium.ensemble.worker.plan_selection import (
    MARGIN,
    SIZES,
    SLOW_WARM_S,
    WARM_S,
    GroupChoices,
    NetworkChoices,
    PlanBenchmark,
    PlanChoice,
    PlanState,
    Samples,
)
from podium.sweep.networks.ensemble_network_adapter import check_rows

THREAD_S = 0.4  # to choose the number of threads for one batch size
THREAD_ROUNDS = (3, 30)  # minimum and maximum
SEVERAL_BELOW = 0.95  # relative to the time with one thread: the median of the rounds
MAX_TIMED_S = 0.2  # one computation; otherwise fewer rows are computed, on which the choice of threads depends less
_FEW_ROWS = 5  # to check a plan that another process has checked on many
_REASON_CHARACTERS = 500
log = logging.getLogger("podium.worker")


@dataclass(slots=True)
class GroupOutputs:
    """The outputs of one group: float32 (members, rows, outputs), and the errors of failed members by position."""

    group: Group
    tensors: list[torch.Tensor]  # one for all members, or one (rows, outputs) for each member that succeeded
    positions: list[int]
    failed: dict[int, str] = field(default_factory=dict)


class GroupRunner:
    """A group with its plan for each batch size, and the fallback if a plan fails."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.choices: Mapping[int, PlanChoice] = {}
        self.plans = GroupPlans(group)
        self._fell_back = ""

    def warm(
        self, samples: Mapping[int, torch.Tensor], budget_s: float, slow: bool, threads: Mapping[int, int]
    ) -> None:
        """Choose a plan for each batch size with its number of threads, within `budget_s` seconds in total.

        If the loop itself fails there is nothing to compare, and the loop is used.
        """
        trial = PlanBenchmark(self.plans, self.group.device, self.group.precision, slow)
        choices: dict[int, PlanChoice] = {}
        try:
            for size, sample in samples.items():
                use_threads(threads[size])
                choices[size] = trial.choose(sample.to(self.group.device), budget_s / len(SIZES))
        except Exception as error:  # noqa: BLE001 - caused by a member: requests report which
            self._fell_back = reason(error)
        self.choices = choices

    def chosen(self) -> GroupChoices:
        return GroupChoices(self.choices, self._fell_back)

    def adopt(self, chosen: GroupChoices, samples: Samples) -> None:
        """Use plans that another process has chosen; the loop replaces one that does not compute the same here."""
        self.choices = {size: self._checked(choice, samples[size]) for size, choice in chosen.choices.items()}
        self._fell_back = chosen.fell_back

    def _checked(self, choice: PlanChoice, sample: torch.Tensor) -> PlanChoice:
        if choice.plan is Plan.LOOP:
            return choice
        benchmark = PlanBenchmark(self.plans, self.group.device, self.group.precision)
        try:
            why = benchmark.mismatch(choice.compute, sample[:_FEW_ROWS].to(self.group.device))
        except Exception as error:  # noqa: BLE001 - any error of PyTorch: the loop always works
            why = reason(error)
        if not why:
            return choice
        log.warning("the plan %s is not used for %d rows: %s", choice.plan, choice.rows, why)
        refused = {**choice.refused, choice.plan: why}
        return replace(choice, plan=Plan.LOOP, compute=self.plans.run_loop, refused=refused)

    def run(self, rows: torch.Tensor) -> GroupOutputs:
        """Compute rows on this group's device; on a GPU the result may not be available yet."""
        try:  # all members accept the same input type: it is part of the signature
            check_rows(self.group.modules[0], rows)
        except ValueError as error:
            return GroupOutputs(self.group, [], [], dict.fromkeys(self.group.positions, reason(error)))
        try:
            answers = self.plan_of(len(rows))(rows)
        except Exception as error:  # noqa: BLE001 - caused by a member or the plan
            return self._one_by_one(rows, error)
        return GroupOutputs(self.group, [answers], list(self.group.positions))

    def to_dict(self) -> dict[str, Any]:
        return {
            "members": list(self.group.positions),
            "device": str(self.group.device),
            "precision": self.group.precision.value,
            "slot": self.group.slot,
            "sizes": [choice.to_dict() for choice in self.choices.values()],
            "fell_back": self._fell_back,
        }

    def plan_of(self, rows: int) -> Callable[[torch.Tensor], torch.Tensor]:
        """How this many rows are computed."""
        choice = self.choices.get(size_of(rows))
        return self.plans.run_loop if choice is None else choice.compute

    def _one_by_one(self, rows: torch.Tensor, error: Exception) -> GroupOutputs:
        """Compute members one by one to find the faulty one; if all succeed, the plan failed and is not used again."""
        answers = GroupOutputs(self.group, [], [])
        for index, position in enumerate(self.group.positions):
            try:
                answers.tensors.append(self.plans.run_one(index, rows))
                answers.positions.append(position)
            except Exception as own:  # noqa: BLE001 - any error is this member's
                answers.failed[position] = reason(own)
        if not answers.failed:
            self._fell_back = reason(error)
            self.choices = {size: PlanChoice(size, Plan.LOOP, self.plans.run_loop) for size in self.choices}
        return answers


class InGraphNetwork:
    """All networks and their combination as one program. Implements `Network`."""

    def __init__(
        self,
        members: Sequence[PlacedNetwork],
        combination: Combination,
        *,
        threads: int | None = None,
        several_below: float = SEVERAL_BELOW,
        at_once_below: float = MARGIN,
    ) -> None:
        """A network that is not warm.

        Args:
            members: In the order of their outputs.
            combination: Of the outputs.
            threads: The largest number of threads of an operation; None for PyTorch's.
            several_below: The time with several threads, relative to that with one, below which several are used.
            at_once_below: The time of devices that compute at once, relative to one after the other, below which they
                compute at once.
        """
        self._several_below = several_below
        self._at_once_below = at_once_below
        self._members = len(members)
        self._combination = combination
        self._example = next((member.example for member in members if member.example is not None), None)
        self.runners = [GroupRunner(group) for group in groups(members)]
        self._devices = self._by_device()
        self._most_threads = threads or torch.get_num_threads()
        self._threads: Mapping[int, int] = dict.fromkeys(SIZES, self._most_threads)
        # By batch size: whether devices compute concurrently.
        self.at_once: Mapping[int, bool] = dict.fromkeys(SIZES, False)
        self._took_us: Mapping[int, Mapping[str, float]] = {}
        self._warm_s = 0.0
        self._state, self._reason = PlanState.PREPARING, ""
        self._pool = ThreadPoolExecutor(max(1, len(self._devices) - 1), "member-device")

    @torch.inference_mode()
    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        """Compute all members and their combination, which is None if a member failed or is not finite.

        Raises the error of the first member if all failed.
        """
        use_threads(self._threads[size_of(len(inputs))])
        answers = self._run(torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy()))
        failed = {position: why for answer in answers for position, why in answer.failed.items()}
        if len(failed) == self._members:
            raise RuntimeError(f"all members failed; first error: {failed[0]}")
        predictions = self._collect(answers, len(inputs))
        valid = not failed and bool(np.isfinite(predictions.sum()))
        combined = combine.combine(self._combination, predictions, range(self._members)) if valid else None
        return NetworkOutputs(predictions, failed, combined)

    @torch.inference_mode()
    def warm(self, features: int, *, slow: bool = False, budget_s: float | None = None) -> None:
        """Benchmark the plans on rows with this many features, then compute a first request.

        With `slow`, includes plans with many seconds of preparation, in addition to `budget_s`. Raises the error of the
        first member if all failed.
        """
        began = time.perf_counter()
        budget_s = budget_s or (SLOW_WARM_S if slow else WARM_S)
        samples = plan_selection.samples(features, torch.device("cpu"), self._example)
        self.choose_threads(samples)
        for group in self.runners:
            group.warm(samples, budget_s / len(self.runners), slow, self._threads)
        if self._placeholders():
            self._choose_at_once(samples)
        self.check(features)
        self._warm_s = time.perf_counter() - began
        self._state = PlanState.CHOSEN

    def check(self, features: int) -> None:
        """Compute a first request. Raises the error of the first member if all failed."""
        for size in SIZES[:2]:
            self.predict(self.known_rows(size, features))

    @property
    def may_prepare_later(self) -> bool:
        """Whether a forked process can prepare the plans: GPUs cannot be used after a fork."""
        return all(running.group.device.type == "cpu" for running in self.runners)

    @property
    def plans(self) -> list[GroupPlans]:
        return [running.plans for running in self.runners]

    def chosen(self) -> NetworkChoices:
        """What was chosen, for `adopt` in another process."""
        groups = [running.chosen() for running in self.runners]
        return NetworkChoices(groups, self._threads, self.at_once, self._took_us, self._warm_s)

    @torch.inference_mode()
    def adopt(self, chosen: NetworkChoices, features: int) -> None:
        """Use what another process has chosen for the same networks, from the next prediction on.

        Nothing else may compute meanwhile.
        """
        samples = plan_selection.samples(features, torch.device("cpu"), self._example)
        for running, group in zip(self.runners, chosen.groups, strict=True):
            running.adopt(group, samples)
        self._threads, self.at_once = chosen.threads, chosen.at_once
        self._took_us, self._warm_s = chosen.devices_took_us, chosen.warm_s
        self._state = PlanState.CHOSEN

    def keep_loop(self, why: str) -> None:
        """The plans cannot be prepared."""
        self._state, self._reason = PlanState.FAILED, why

    def plan(self) -> dict[str, Any]:
        """The chosen plans and the times of the others, as plain values for the ensemble's report."""
        return {
            "state": self._state.value,
            "reason": self._reason,
            "groups": [group.to_dict() for group in self.runners],
            "threads": {str(size): threads for size, threads in self._threads.items()},
            "devices_at_once": {str(size): at_once for size, at_once in self.at_once.items()},
            "devices_took_us": {str(size): took for size, took in self._took_us.items()},
            "warm_s": round(self._warm_s, 2),
        }

    def known_rows(self, rows: int, features: int) -> NDArray[np.float32]:
        """Input rows that the members accept."""
        return known_rows(rows, features, self._example)

    def choose_threads(self, samples: Mapping[int, torch.Tensor]) -> None:
        """Choose the number of threads for each operation: one, or the allowed number if that is faster.

        Small operations synchronize too often to profit from several threads. The two take turns, and their times are
        compared by round.
        """
        most, chosen = self._most_threads, dict(self._threads)
        if most == 1 or any(running.group.device.type == "cuda" for running in self.runners):
            return
        for size, sample in samples.items():
            took_us = self._time_threads(sample[: self.quick_rows(sample)], (1, most))
            ratio = statistics.median(plan_selection.relative(took_us[most], took_us[1]))
            chosen[size] = most if ratio < self._several_below else 1
        self._threads = chosen

    def quick_rows(self, sample: torch.Tensor) -> int:
        """As many rows as are computed in `MAX_TIMED_S`, at least those of the batch size below."""
        took_s = timed_us(self._serial, sample[: SIZES[1]]) / 1e6
        return max(SIZES[1] + 1, int(MAX_TIMED_S / took_s * SIZES[1]))

    def _time_threads(self, rows: torch.Tensor, numbers: Sequence[int]) -> dict[int, list[float]]:
        """The time of each round in microseconds, by the number of threads."""
        took_us: dict[int, list[float]] = {threads: [] for threads in numbers}
        least, most = THREAD_ROUNDS
        end_s = time.perf_counter() + THREAD_S
        for done in range(-1, most):  # the first round is slower, and is not counted
            if done >= least and time.perf_counter() >= end_s:
                break
            for threads, times in took_us.items():
                use_threads(threads)
                took = timed_us(self._serial, rows)
                if done >= 0:
                    times.append(took)
        return took_us

    # Several devices.

    def _by_device(self) -> list[list[GroupRunner]]:
        found: dict[tuple[torch.device, int], list[GroupRunner]] = {}
        for running in self.runners:
            found.setdefault((running.group.device, running.group.slot), []).append(running)
        return list(found.values())

    def _placeholders(self) -> bool:
        """Whether several CPU slots serve as devices; a GPU computes asynchronously anyway."""
        return len(self._devices) > 1 and all(running.group.device.type == "cpu" for running in self.runners)

    def _choose_at_once(self, samples: Mapping[int, torch.Tensor]) -> None:
        times_us: dict[int, dict[str, float]] = {}
        at_once: dict[int, bool] = {}
        for size, sample in samples.items():
            use_threads(self._threads[size])
            took: dict[str, float] = {}
            for _ in range(2):  # the first run starts the threads
                for name, run in (("one after the other", self._serial), ("at once", self._threaded)):
                    took[name] = min(timed_us(run, sample) for _ in range(5 if size < SIZES[-1] else 2))
            times_us[size] = {name: round(us, 1) for name, us in took.items()}
            at_once[size] = took["at once"] < took["one after the other"] * self._at_once_below
        self._took_us, self.at_once = times_us, at_once

    def _run(self, rows: torch.Tensor) -> list[GroupOutputs]:
        run = self._threaded if self.at_once[size_of(len(rows))] else self._serial
        return run(rows)

    def _serial(self, rows: torch.Tensor) -> list[GroupOutputs]:
        """Compute on one device after the other; GPU launches do not block, so GPUs overlap."""
        if any(running.group.device.type == "cuda" for running in self.runners):
            rows = rows.pin_memory()
        return [answer for device in self._devices for answer in _run_device(device, rows)]

    def _threaded(self, rows: torch.Tensor) -> list[GroupOutputs]:
        """Compute with a thread for each device: PyTorch releases the GIL while it computes."""
        first, *others = self._devices
        futures = [self._pool.submit(_run_device, device, rows) for device in others]
        return _run_device(first, rows) + [answer for future in futures for answer in future.result()]

    def _collect(self, answers: Sequence[GroupOutputs], rows: int) -> NDArray[np.float32]:
        """The predictions in member order; failed members are NaN."""
        tensors = _on_host([tensor for answer in answers for tensor in answer.tensors])
        if len(tensors) == 1 and not answers[0].failed and len(answers) == 1:
            whole: NDArray[np.float32] = tensors[0].numpy().reshape(self._members, rows, -1)
            return whole
        outputs = tensors[0].shape[-1]
        predictions = np.full((self._members, rows, outputs), np.nan, dtype=np.float32)
        left = iter(tensors)
        for answer in answers:
            stacked = [next(left).numpy() for _ in answer.tensors]
            if stacked:
                predictions[answer.positions] = stacked[0] if stacked[0].ndim == 3 else stacked
        return predictions


def known_rows(rows: int, features: int, example: torch.Tensor | None) -> NDArray[np.float32]:
    """Repeat the rows of an example; zeros without one."""
    if example is None:
        return np.zeros((rows, features), dtype=np.float32)
    return np.resize(example.numpy(), (rows, features))


class ThreadNumber:
    """The number that was set last. PyTorch sets that of OpenMP in the calling thread, of MKL in the process."""

    last: int | None = None


def use_threads(threads: int) -> None:
    """Set the number of threads of each operation, before each computation in any thread; nearly free if unchanged."""
    if torch.get_num_threads() != threads or ThreadNumber.last != threads:
        torch.set_num_threads(threads)
        ThreadNumber.last = threads


def size_of(rows: int) -> int:
    """The benchmarked size that a batch uses."""
    return next((size for size in SIZES if rows <= size), SIZES[-1])


def reason(error: Exception) -> str:
    """An exception as one line."""
    return f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS]


@torch.inference_mode()  # applies to one thread
def _run_device(device: Sequence[GroupRunner], rows: torch.Tensor) -> list[GroupOutputs]:
    there = rows.to(device[0].group.device, non_blocking=True)
    return [running.run(there) for running in device]


def _on_host(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copy all results to the host, synchronizing once for each device."""
    devices = {tensor.device for tensor in tensors if tensor.is_cuda}
    if not devices:
        return list(tensors)
    there = [_pinned(tensor) if tensor.is_cuda else tensor for tensor in tensors]
    for device in devices:
        torch.cuda.synchronize(device)
    return there


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)


def timed_us(run: Callable[[torch.Tensor], object], rows: torch.Tensor) -> float:
    """The time of one computation in microseconds."""
    began = time.perf_counter()
    run(rows)
    return (time.perf_counter() - began) * 1e6
