"""Samples of the resources that an attempt uses: processor, memory, storage, GPU; every process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby


@dataclass(frozen=True, slots=True)
class UsageSample:
    """The usage of all processes of one rank in the `span_s` seconds before `at`."""

    at: float  # seconds since the epoch
    span_s: float
    cpu_cores: float  # processor seconds per second
    memory_bytes: int  # the highest one, counted as for `limits.memory_mb`
    read_bytes: int  # from storage
    written_bytes: int
    gpu_percent: float | None = None  # of the time in which a kernel ran on the device; None without a GPU
    gpu_memory_bytes: int | None = None  # the highest one

    @property
    def row(self) -> list[float | None]:
        """The values in the order of the fields."""
        return [getattr(self, name) for name in FIELDS]


FIELDS = tuple(field.name for field in fields(UsageSample))


def merged(samples: Sequence[UsageSample]) -> UsageSample:
    """One sample for all of these, in the order of their times: means of rates, the highest memory, sums of bytes."""
    span_s = sum(sample.span_s for sample in samples)
    gpu = [(sample.gpu_percent, sample.span_s) for sample in samples if sample.gpu_percent is not None]
    return UsageSample(
        at=samples[-1].at,
        span_s=span_s,
        cpu_cores=_mean([(sample.cpu_cores, sample.span_s) for sample in samples]),
        memory_bytes=max(sample.memory_bytes for sample in samples),
        read_bytes=sum(sample.read_bytes for sample in samples),
        written_bytes=sum(sample.written_bytes for sample in samples),
        gpu_percent=_mean(gpu) if gpu else None,
        gpu_memory_bytes=max((s.gpu_memory_bytes for s in samples if s.gpu_memory_bytes is not None), default=None),
    )


def merged_by(samples: Sequence[UsageSample], width_s: float) -> list[UsageSample]:
    """One sample for each period of `width_s` seconds since the epoch that has any."""
    return [merged(list(group)) for _, group in groupby(samples, lambda sample: sample.at // width_s)]


def thinned(samples: Sequence[UsageSample], limit: int) -> list[UsageSample]:
    """At most `limit` samples over the same time, merged in groups of neighbors of equal size."""
    size = -(-len(samples) // limit)
    return list(samples) if size <= 1 else [merged(samples[at : at + size]) for at in range(0, len(samples), size)]


def summed(ranks: Sequence[Sequence[UsageSample]]) -> list[UsageSample]:
    """The sum over the ranks of an attempt, at the times of the samples of the first one.

    Ranks are sampled at different moments: of each, the sample at or before the time counts, or its first one.
    """
    if len(ranks) == 1:
        return list(ranks[0])
    first, *others = [rank for rank in ranks if rank] or [[]]
    positions = [0] * len(others)
    total = []
    for sample in first:
        parts = [sample]
        for number, rank in enumerate(others):
            while positions[number] + 1 < len(rank) and rank[positions[number] + 1].at <= sample.at:
                positions[number] += 1
            parts.append(rank[positions[number]])
        total.append(_added(parts))
    return total


def _added(parts: Sequence[UsageSample]) -> UsageSample:
    lead = parts[0]
    gpu = [part.gpu_percent for part in parts if part.gpu_percent is not None]
    gpu_memory = [part.gpu_memory_bytes for part in parts if part.gpu_memory_bytes is not None]
    return UsageSample(
        at=lead.at,
        span_s=lead.span_s,
        cpu_cores=sum(part.cpu_cores for part in parts),
        memory_bytes=sum(part.memory_bytes for part in parts),
        read_bytes=round(sum(part.read_bytes * lead.span_s / part.span_s for part in parts if part.span_s)),
        written_bytes=round(sum(part.written_bytes * lead.span_s / part.span_s for part in parts if part.span_s)),
        gpu_percent=sum(gpu) / len(gpu) if gpu else None,
        gpu_memory_bytes=sum(gpu_memory) if gpu_memory else None,
    )


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    weight = sum(each for _, each in weighted)
    return sum(value * each for value, each in weighted) / weight if weight else weighted[-1][0]
