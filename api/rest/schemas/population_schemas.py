"""Responses about populations: intervals, and schedules of configurations; api."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from podium.api.rest.schemas.base_schema import View, time_of
from podium.db.queries.population_schedules import IntervalRow, PopulationSummary
from podium.sweep.values.attempt_assignment import Params


class IntervalView(View):
    """An interval of training of a trial of a population."""

    trial_id: int
    trial: int  # its number
    interval: int  # from 1; a trial that continued another one may have skipped numbers
    params: Params
    donor_id: int | None  # the trial whose checkpoint it started from; null: its own, or none
    donor: int | None  # its number
    donor_interval: int | None
    attempt: int | None  # that ended it; null: it has not ended, or the trial has ended in it
    step: int | None  # at its end
    value: float | None  # of the metric, at its end
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, row: IntervalRow) -> IntervalView:
        fields = {name: getattr(row, name) for name in cls.model_fields if not name.endswith("_at")}
        return cls(**fields, started_at=time_of(row.started_at), ended_at=time_of(row.ended_at))


class PopulationView(View):
    """How far the trials of a population are."""

    trials: int  # that have started an interval
    intervals: int  # that have ended
    exploits: int  # that started from the checkpoint of another trial
    fewest: int  # the interval of the trial that is behind all others
    most: int

    @classmethod
    def of(cls, summary: PopulationSummary) -> PopulationView:
        return cls.model_validate(summary)


class ScheduleView(View):
    """The schedule of configurations that led to the current state of a trial."""

    intervals: list[IntervalView]  # oldest first, those of the trials that it continued among them
    replay: dict[str, Any]  # a sweep with one trial that repeats the schedule
