"""Figures of metrics as columns of trials, `min(val/loss)`: parsed, selected, sorted by; api."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, select

from podium.db.schema.dialect import with_strings
from podium.db.schema.tables import metric_summaries, trials
from podium.db.stores.metric_summaries import COLUMNS, Figure
from podium.sweep.values.errors import BadRequestError

MAX_FIGURES = 200  # of a request
_PREFIX = "metrics."
_FIGURE = re.compile(rf"({'|'.join(sorted(Figure, key=len, reverse=True))})\((.+)\)", re.DOTALL)


# Plain rows: for 200 metrics of 100 trials, objects would take half of the time.
_ROWS = """
    SELECT s.trial_id, s.name, s.non_finite, {} FROM json_each(:ids) AS each
    JOIN metric_summaries AS s ON s.trial_id = each.value WHERE s.name IN (SELECT value FROM {{strings}}(:names))
"""


@dataclass(frozen=True, slots=True)
class MetricFigure:
    """A figure of a metric, such as the lowest value of `val/loss`."""

    figure: Figure
    metric: str

    @property
    def key(self) -> str:
        """The name of the column."""
        return f"{self.figure}({self.metric})"


def parse_figure(text: str) -> MetricFigure | None:
    """`min(val/loss)`, or `metrics.val/loss` for the last value; None for any other text."""
    if match := _FIGURE.fullmatch(text):
        return MetricFigure(Figure(match[1]), match[2])
    if text.startswith(_PREFIX) and len(text) > len(_PREFIX):
        return MetricFigure(Figure.LAST, text.removeprefix(_PREFIX))
    return None


def parse_figures(texts: Iterable[str]) -> list[MetricFigure]:
    """The requested figures. Raises `BadRequestError`."""
    found = []
    for key in texts:
        figure = parse_figure(key)
        if figure is None:
            raise BadRequestError(f"metrics={key}: write one of {', '.join(f'{each}(NAME)' for each in Figure)}")
        found.append(figure)
    if len(found) > MAX_FIGURES:
        raise BadRequestError(f"metrics: {len(found)} were requested; at most {MAX_FIGURES} can be")
    return list(dict.fromkeys(found))


def columns_of(
    connection: Connection, trial_ids: Sequence[int], figures: Sequence[MetricFigure]
) -> dict[str, list[float | int | None]]:
    """A column for each figure, and one of `non_finite(NAME)` for each metric with values that are not finite."""
    if not figures:
        return {}
    wanted = dict.fromkeys(each.figure for each in figures)
    by_metric: dict[str, list[tuple[int, list[float | int | None]]]] = {}
    columns: dict[str, list[float | int | None]] = {}
    for each in figures:
        column = columns[each.key] = [None] * len(trial_ids)
        by_metric.setdefault(each.metric, []).append((list(wanted).index(each.figure), column))
    counts: dict[str, list[float | int | None]] = {name: [None] * len(trial_ids) for name in by_metric}
    places = {id_: place for place, id_ in enumerate(trial_ids)}
    names = ", ".join(COLUMNS[figure].name for figure in wanted)
    found = connection.execute(
        with_strings(_ROWS.format(names)).on(connection),
        {"ids": json.dumps(list(trial_ids)), "names": json.dumps(list(by_metric))},
    )
    for trial_id, name, non_finite, *values in found:
        place = places[trial_id]
        for position, column in by_metric[name]:
            column[place] = values[position]
        counts[name][place] = non_finite
    marks = {MetricFigure(Figure.NON_FINITE, name).key: column for name, column in counts.items() if any(column)}
    return columns | marks


def figures_of(
    connection: Connection, trial_ids: Sequence[int], figures: Sequence[MetricFigure]
) -> Mapping[int, dict[str, float | int | None]]:
    """The figures by trial and key."""
    columns = columns_of(connection, trial_ids, figures)
    return {id_: {key: column[at] for key, column in columns.items()} for at, id_ in enumerate(trial_ids)}


def figure_of_trial(figure: MetricFigure) -> ScalarSelect[Any]:
    """The figure of a row of `trials`, as an expression."""
    this = (metric_summaries.c.trial_id == trials.c.id) & (metric_summaries.c.name == figure.metric)
    return select(COLUMNS[figure.figure]).where(this).correlate(trials).scalar_subquery()


def figure_column(figure: MetricFigure, table: Any) -> ColumnElement[Any]:
    """The column of a figure in an alias of the table of summaries."""
    column: ColumnElement[Any] = table.c[COLUMNS[figure.figure].name]
    return column
