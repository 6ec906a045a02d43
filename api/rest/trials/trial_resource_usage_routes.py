"""What trials use over REST: processor, memory, storage and GPU over time; api."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.stores import attempt_usage, multi_device_attempt_ranks, trial_reader
from podium.sweep.values.megabytes import MB, megabytes
from podium.sweep.values.usage_samples import UsageSample, summed, thinned

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])


class UsageColumns(View):
    """Samples as columns of equal length, oldest first. A sample is about the `span_s` seconds before `at`."""

    at: list[float]  # seconds since the epoch
    span_s: list[float]
    cpu_cores: list[float]  # mean
    memory_mb: list[float | None]  # highest in the span; counted as for `limits.memory_mb`
    read_mb_s: list[float]  # from storage
    written_mb_s: list[float]
    gpu_percent: list[float | None]  # null: no GPU, or unknown
    gpu_memory_mb: list[float | None]

    @classmethod
    def of(cls, samples: Sequence[UsageSample]) -> UsageColumns:
        return cls(
            at=[round(sample.at, 3) for sample in samples],
            span_s=[round(sample.span_s, 3) for sample in samples],
            cpu_cores=[round(sample.cpu_cores, 3) for sample in samples],
            memory_mb=[megabytes(sample.memory_bytes) for sample in samples],
            read_mb_s=[_rate(sample.read_bytes, sample.span_s) for sample in samples],
            written_mb_s=[_rate(sample.written_bytes, sample.span_s) for sample in samples],
            gpu_percent=[None if sample.gpu_percent is None else round(sample.gpu_percent, 1) for sample in samples],
            gpu_memory_mb=[megabytes(sample.gpu_memory_bytes) for sample in samples],
        )


class RankUsageView(View):
    """The usage of one rank."""

    rank: int
    device: str
    samples: UsageColumns


class UsageView(View):
    """The usage of an attempt."""

    attempt: int
    memory_limit_mb: float | None  # of each rank: `limits.memory_mb`, or that of its machine
    gpu_memory_limit_mb: float | None
    total: UsageColumns  # over all ranks
    ranks: list[RankUsageView]  # if it has several; otherwise empty


def _rate(size_bytes: int, span_s: float) -> float:
    return round(size_bytes / MB / span_s, 3) if span_s else 0.0


@router.get("/{trial_id}/usage", dependencies=[viewer])
def show_usage(
    trial_id: RowId,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000, description="default: the current one")] = None,
    max_points: Annotated[int, Query(ge=10, le=5_000)] = 600,
    service: ServiceContext = context,
) -> UsageView:
    """What an attempt uses: a sample per second of the last two minutes, and coarser ones before.

    More samples than `max_points` are merged; the highest memory is kept. Empty for attempts of less than a quarter of
    a second, and of earlier versions.
    """
    with service.database.read() as connection:
        number = trial_reader.get(connection, trial_id).attempt if attempt is None else attempt
        found = attempt_usage.of_attempt(connection, trial_id, number)
        limits = attempt_usage.limits_of(connection, trial_id, number)
        devices = multi_device_attempt_ranks.device_ids(connection, trial_id, number) if len(found) > 1 else []
    ranks = {rank: thinned(samples, max_points) for rank, samples in found.items()}
    return UsageView(
        attempt=number,
        memory_limit_mb=megabytes(limits[0]),
        gpu_memory_limit_mb=megabytes(limits[1]),
        total=UsageColumns.of(summed(list(ranks.values())) if ranks else []),
        ranks=[
            RankUsageView(rank=rank, device=devices[rank], samples=UsageColumns.of(samples))
            for rank, samples in ranks.items()
            if rank < len(devices)
        ],
    )
