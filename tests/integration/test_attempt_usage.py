"""What real attempts use: sampled while they run, up to the moment of their end, also while no scheduler calls."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from podium.sweep.values.attempt_assignment import Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Sampled
from podium.sweep.values.usage_samples import UsageSample
from tests.driver import SlotDriver, key_of, stop_command

MB = 1 << 20


def _samples(events: list[Event]) -> list[UsageSample]:
    return [sample for event in events if isinstance(event, Sampled) for sample in event.samples]


def _function(name: str) -> dict[str, str]:
    return {"function": f"usage:{name}"}


def test_usage_is_sampled_once_per_second_and_before_the_end(slot: SlotDriver) -> None:
    events = slot.events(_function("computes"))
    assert isinstance(events[-1], Ended)
    samples = _samples(events)
    assert len(samples) >= 3
    assert sum(sample.cpu_cores * sample.span_s for sample in samples) > 1.0
    assert all(0 < sample.memory_bytes < 2000 * MB for sample in samples)
    assert all(sample.gpu_percent is None for sample in samples)
    spans = [later.at - earlier.at for earlier, later in itertools.pairwise(samples)]
    assert spans == pytest.approx([sample.span_s for sample in samples[1:]], abs=0.01)


@pytest.mark.parametrize("name", ["allocates_between_samples", "allocates_before_its_end"])
def test_peak_that_no_sample_has_seen_counts(slot: SlotDriver, name: str) -> None:
    samples = _samples(slot.events(_function(name)))
    assert 400 * MB <= max(sample.memory_bytes for sample in samples) < 700 * MB
    assert samples[0].memory_bytes < 400 * MB, "the first sample is earlier"
    assert all(sample.cpu_cores < 4 for sample in samples)


def test_files_that_were_mapped_do_not_count(slot: SlotDriver) -> None:
    samples = _samples(slot.events(_function("maps_a_file")))
    assert 0 < max(sample.memory_bytes for sample in samples) < 300 * MB


def test_peak_of_a_script_between_samples_counts(slot: SlotDriver) -> None:
    samples = _samples(slot.events({"command": ["python", "peak_script.py"], "script": None, "metrics": {}, "env": {}}))
    assert 400 * MB <= max(sample.memory_bytes for sample in samples) < 700 * MB


def test_memory_is_sampled_up_to_its_limit(slot: SlotDriver) -> None:
    events = slot.events(_function("grows"), limits=Limits(memory_mb=300, grace_s=0.1))
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.cause is Cause.HOST_MEMORY
    samples = _samples(events)
    assert samples[-1].memory_bytes > 300 * MB
    assert f"used {samples[-1].memory_bytes / MB:.0f} MB" in ended.message
    assert {event.memory_limit_bytes for event in events if isinstance(event, Sampled)} == {300 * MB}


def test_attempt_that_ends_at_once_has_no_samples(slot: SlotDriver) -> None:
    slot.result(_function("ends"))  # imports the program
    # On a busy machine an attempt may last until the first sample.
    assert any(_samples(slot.events(_function("ends"))) == [] for _ in range(10))


def test_samples_wait_for_a_scheduler_that_is_away(slot: SlotDriver) -> None:
    assignment = slot.begin({"function": "train:sleeps"})
    slot.wait(asyncio.sleep(6))
    description = slot.open()  # a new scheduler
    samples = _samples([event for _, event in description.events])
    assert len(samples) >= 5
    slot.end(stop_command(key_of(assignment)))
