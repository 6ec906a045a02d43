"""Groups the failed trials of a sweep by cause and normalized message; api."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import Connection, Select, and_, func, select

from podium.db.queries import failure_ranges
from podium.db.queries.attempt_reader import MAX_ERROR
from podium.db.queries.chart_points import Condition
from podium.db.queries.parameter_summaries import ParameterSummaries, ParameterSummary
from podium.db.schema.dialect import ending
from podium.db.schema.tables import attempts, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.trial_params import params_of_trials
from podium.sweep.values.failure_message_normalization import first_line, location, normalized
from podium.sweep.values.states import TrialState

MAX_EXAMINED = 10_000  # failed trials, the newest ones
MAX_GROUPS = 50
MAX_TRIALS = 500  # ids of a group
LOG_LINES = 20
_TRACEBACK = 6_000  # characters, from its end


@dataclass(slots=True)
class FailureGroup:
    """Failed trials with the same cause and message; `first` is the one with the lowest number."""

    cause: str
    message: str  # with placeholders for numbers, paths and addresses
    count: int = 0
    devices: Counter[str] = field(default_factory=Counter)
    params: dict[str, ParameterSummary] = field(default_factory=dict)  # of `trial_ids`
    trial_ids: list[int] = field(default_factory=list)  # the newest `MAX_TRIALS`, by descending number
    first_id: int = 0
    first_number: int = 0
    first_message: str = ""
    location: str | None = None
    log: str = ""  # the last lines of the first trial


@dataclass(frozen=True, slots=True)
class FailureGroups:
    """The largest groups first."""

    failed: int  # trials that match
    examined: int  # of them, the newest
    groups: list[FailureGroup]


def failure_groups(
    connection: Connection,
    sweep_id: int,
    where: Condition,
    *,
    most_examined: int = MAX_EXAMINED,
    most_groups: int = MAX_GROUPS,
    most_trials: int = MAX_TRIALS,
) -> FailureGroups:
    """The failures of the trials that match `where`: those in the state failed, by their current attempt.

    A parameter with a range of numbers says how many of the newest finished trials that match are in it, too, and which
    other parameter separates both: `failure_ranges`.
    """
    failed = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FAILED.value, where)
    count = connection.execute(select(func.count()).select_from(trials).where(failed)).scalar_one()
    message = func.substr(attempts.c.message, 1, MAX_ERROR)
    rows = connection.execute(
        select(trials.c.id, trials.c.number, attempts.c.device_id, attempts.c.cause, message.label("message"))
        .join(attempts, CURRENT_ATTEMPT)
        .where(failed)
        .order_by(trials.c.number.desc())
        .limit(most_examined)
    ).all()
    groups: dict[tuple[str, str], FailureGroup] = {}
    for row in rows:
        key = (row.cause or "", normalized(row.message or ""))
        group = groups.setdefault(key, FailureGroup(*key))
        group.count += 1
        group.devices[row.device_id] += 1
        group.first_id, group.first_number, group.first_message = row.id, row.number, first_line(row.message or "")
        if len(group.trial_ids) < most_trials:
            group.trial_ids.append(row.id)
    largest = sorted(groups.values(), key=lambda group: (-group.count, group.first_number))[:most_groups]
    _add_details(connection, largest)
    newest_finished = (
        select(trials.c.id)
        .where(trials.c.sweep_id == sweep_id, where, trials.c.state == TrialState.FINISHED.value)
        .order_by(trials.c.number.desc())
        .limit(most_examined)
    )
    _add_parameters(connection, largest, newest_finished)
    return FailureGroups(count, len(rows), largest)


def _add_details(connection: Connection, groups: list[FailureGroup]) -> None:
    """Where the first trial of each group failed, and the end of its log."""
    by_id = {group.first_id: group for group in groups}
    rows = connection.execute(
        select(trials.c.id, ending(attempts.c.traceback, _TRACEBACK).label("traceback"), attempts.c.log_tail)
        .join(attempts, CURRENT_ATTEMPT)
        .where(trials.c.id.in_(by_id))
    )
    for row in rows:
        group = by_id[row.id]
        group.location = location(row.traceback or "")
        group.log = "\n".join((row.log_tail or "").rstrip().split("\n")[-LOG_LINES:])


def _add_parameters(connection: Connection, groups: list[FailureGroup], newest_finished: Select[int]) -> None:
    """Summarize the parameters of the newest trials of each group, next to those of finished trials."""
    ids = [trial_id for group in groups for trial_id in group.trial_ids]
    params = params_of_trials(connection, ids)
    failed = [[params.get(trial_id, {}) for trial_id in group.trial_ids] for group in groups]
    for group, each in zip(groups, failed, strict=True):
        summaries = ParameterSummaries()
        for values in each:
            summaries.add(values)
        group.params = summaries.result()
    names = failure_ranges.names(group.params for group in groups)
    if not names:
        return
    finished = failure_ranges.columns(connection, newest_finished, names)
    for group, each in zip(groups, failed, strict=True):
        group.params = failure_ranges.with_finished(group.params, each, finished)
