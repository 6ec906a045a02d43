"""Samples of usage: merged ones keep sums and peaks, and ranks add up."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.usage_samples import UsageSample, merged, merged_by, summed, thinned


def sample(at: float, span_s: float = 1.0, **changes: float | None) -> UsageSample:
    values = {"cpu_cores": 1.0, "memory_bytes": 100, "read_bytes": 10, "written_bytes": 0, **changes}
    return UsageSample(at, span_s, **values)  # type: ignore[arg-type]


@st.composite
def series(draw: st.DrawFn) -> list[UsageSample]:
    count = draw(st.integers(1, 80))
    at, found = 1_700_000_000.0, []
    for _ in range(count):
        span_s = draw(st.floats(0.1, 5))
        at += span_s
        gpu = draw(st.none() | st.floats(0, 100))
        found.append(
            UsageSample(
                at, span_s, draw(st.floats(0, 64)), draw(st.integers(0, 2**40)), draw(st.integers(0, 2**30)),
                draw(st.integers(0, 2**30)), gpu, None if gpu is None else draw(st.integers(0, 2**37)),
            )
        )  # fmt: skip
    return found


def _totals(samples: list[UsageSample]) -> tuple[float, int, int, int]:
    return (
        sum(each.cpu_cores * each.span_s for each in samples),
        max(each.memory_bytes for each in samples),
        sum(each.read_bytes for each in samples),
        sum(each.written_bytes for each in samples),
    )


@given(series(), st.sampled_from([2.0, 10.0, 60.0]), st.integers(1, 40))
def test_merging_keeps_processor_time_peaks_traffic_and_the_last_moment(
    samples: list[UsageSample], width_s: float, limit: int
) -> None:
    for fewer in ([merged(samples)], merged_by(samples, width_s), thinned(samples, limit)):
        assert math.isclose(_totals(fewer)[0], _totals(samples)[0], rel_tol=1e-9, abs_tol=1e-9)
        assert _totals(fewer)[1:] == _totals(samples)[1:]
        assert math.isclose(sum(each.span_s for each in fewer), sum(each.span_s for each in samples))
        assert fewer[-1].at == samples[-1].at
        assert [each.at for each in fewer] == sorted({each.at for each in fewer})
    assert len(thinned(samples, limit)) <= limit


def test_merged_sample_has_no_gpu_only_if_none_has() -> None:
    assert merged([sample(1.0), sample(2.0)]).gpu_percent is None
    both = merged([sample(1.0), sample(2.0, gpu_percent=40.0, gpu_memory_bytes=7)])
    assert (both.gpu_percent, both.gpu_memory_bytes) == (40.0, 7)


def test_periods_begin_at_multiples_of_their_width() -> None:
    assert [each.at for each in merged_by([sample(8.0), sample(9.5), sample(10.5), sample(31.0)], 10.0)] == [
        9.5,
        10.5,
        31.0,
    ]


def test_ranks_are_added_at_the_times_of_the_first() -> None:
    first = [sample(1.0, cpu_cores=1.0), sample(2.0, cpu_cores=2.0), sample(3.0, cpu_cores=3.0)]
    second = [sample(1.5, cpu_cores=10.0, memory_bytes=5), sample(2.5, cpu_cores=20.0, gpu_percent=50.0)]
    total = summed([first, second])
    assert [each.at for each in total] == [1.0, 2.0, 3.0]
    assert [each.cpu_cores for each in total] == [11.0, 12.0, 23.0]
    assert [each.memory_bytes for each in total] == [105, 105, 200]
    assert total[-1].gpu_percent == 50.0
    assert summed([first]) == first
    assert summed([[], second]) == second
