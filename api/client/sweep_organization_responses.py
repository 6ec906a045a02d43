"""The REST responses about projects, saved views, search and comparisons; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import TypedDict

from podium.api.client.sweep_responses import Params


class ProjectInfo(TypedDict):
    """A project: the sweeps that name it."""

    name: str
    sweeps: int
    archived: int  # of these


class SavedViewInfo(TypedDict):
    """A saved view of the page of a sweep."""

    id: int
    name: str
    project: str  # "": for all sweeps
    tab: str
    query: dict[str, str]  # filter, sort, columns, …
    owner: str
    changed_at: str | None


class FoundInfo(TypedDict):
    """Something that a search has found."""

    kind: str  # sweep, trial, ensemble, project
    id: int | None
    name: str
    detail: str
    sweep_id: int | None  # of a trial
    number: int | None  # of a trial in its sweep


class ImprovementInfo(TypedDict):
    """A trial that improved on all before."""

    trial_id: int
    number: int
    time_s: float  # its end, since the start of the sweep
    value: float


class HistoryInfo(TypedDict):
    """The best value of a sweep over its trials, by its first objective."""

    sweep_id: int
    name: str
    state: str
    metric: str
    goal: str
    value_rule: str  # last, min or max: which report is the value of a trial, if its program returns none
    improvements: list[ImprovementInfo]
    trials: int  # that have ended with a value and violate no constraint
    last_number: int  # the largest number of these; -1 without one
    last_s: float  # end of the last of them, since the start of the sweep


class JoinedTrialInfo(TypedDict):
    """A trial in a table of several sweeps. A name that it lacks in a mapping is missing, not zero."""

    id: int
    sweep_id: int
    sweep_name: str
    number: int
    state: str
    params: Params
    values: dict[str, float]  # of a finished trial, by objective
    metrics: dict[str, float]  # the last value of each
    duration_s: float | None
    device: str | None
    cause: str | None
