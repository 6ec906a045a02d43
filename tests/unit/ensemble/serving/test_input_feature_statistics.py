"""The summary of recent inputs: exact moments of the sampled rows, bounded in time and size."""

from __future__ import annotations

import numpy as np
import pytest

from podium.ensemble.serving.input_feature_statistics import (
    BLOCK_S,
    BLOCKS,
    MAX_FEATURES,
    MAX_WAITING,
    SAMPLE_ROWS,
    InputFeatureStatistics,
    Moments,
    from_json,
    merged,
    to_json,
)


def test_moments_are_those_of_all_rows_together() -> None:
    rows = np.random.default_rng(1).normal(1e6, 3.0, (500, 4)).astype(np.float32)
    summary = InputFeatureStatistics()
    for number, start in enumerate(range(0, 500, 20)):
        summary.observe(1, rows[start : start + 20], float(number))
    found = summary.recent(30.0)[1]
    wide = rows.astype(np.float64)
    assert found.rows == 500
    np.testing.assert_allclose(found.mean, wide.mean(axis=0))
    np.testing.assert_allclose(found.std, wide.std(axis=0), rtol=1e-6)


def test_sample_is_bounded() -> None:
    summary = InputFeatureStatistics()
    summary.observe(1, np.ones((1000, 2), np.float32), 0.0)
    summary.observe(1, np.ones((1, 2), np.float32), 0.01)  # too soon
    summary.observe(2, np.ones((1, MAX_FEATURES + 1), np.float32), 10.0)
    summary.observe(3, np.ones((0, 2), np.float32), 20.0)
    recent = summary.recent(20.0)
    assert list(recent) == [1] and recent[1].rows <= SAMPLE_ROWS


def test_gateway_that_does_not_record_keeps_few_samples() -> None:
    summary = InputFeatureStatistics()
    for number in range(3 * MAX_WAITING):
        summary.observe(1, np.ones((1, 1), np.float32), float(number))
    assert summary.recent(3.0 * MAX_WAITING)[1].rows == MAX_WAITING


def test_rows_of_an_hour_ago_are_dropped() -> None:
    summary = InputFeatureStatistics()
    for block in range(2 * BLOCKS):
        summary.observe(1, np.full((1, 1), block, np.float32), block * BLOCK_S)
    last_s = (2 * BLOCKS - 1) * BLOCK_S
    assert summary.recent(last_s)[1].rows == BLOCKS
    assert summary.recent(last_s)[1].mean[0] == np.mean(range(BLOCKS, 2 * BLOCKS))
    assert summary.recent(last_s + BLOCKS * BLOCK_S) == {}


def test_other_features_start_a_new_summary() -> None:
    summary = InputFeatureStatistics()
    summary.observe(1, np.ones((5, 2), np.float32), 0.0)
    summary.observe(1, np.ones((3, 4), np.float32), 1.0)
    assert summary.recent(1.0)[1].rows == 3


def test_saved_moments_are_read() -> None:
    moments = Moments.of(np.array([[0.1, 2.0], [0.3, 2.0]]))
    again = from_json(to_json({7: moments}))[7]
    assert again.rows == 2 and np.array_equal(again.mean, moments.mean) and np.array_equal(again.std, moments.std)
    for invalid in (b"", b"[1]", b'{"1": 3}'):
        with pytest.raises((ValueError, TypeError)):
            from_json(invalid)


def test_summaries_of_several_processes_are_added_up() -> None:
    rows = np.random.default_rng(2).normal(5.0, 2.0, (300, 3))
    parts = [{1: Moments.of(rows[:100])}, {}, {1: Moments.of(rows[100:]), 2: Moments.of(rows[:10])}]
    found = merged(parts)
    assert (found[1].rows, found[2].rows) == (300, 10)
    np.testing.assert_allclose(found[1].mean, rows.mean(axis=0))
    np.testing.assert_allclose(found[1].std, rows.std(axis=0))


def test_rows_of_a_version_with_other_features_are_not_mixed() -> None:
    few, many = Moments.of(np.ones((5, 3))), Moments.of(np.ones((50, 4)))
    assert merged([{1: few}, {1: many}])[1] is many
    assert merged([{1: many}, {1: few}])[1] is many
