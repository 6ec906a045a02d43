"""Figures of metrics as columns of trials, `min(val/loss)`: parsed, selected, sorted by; api."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, select

from podium.db.schema.tables import metric_summaries, trials
from podium.db.stores import metric_summaries as summaries
from podium.db.stores.metric_summaries import COLUMNS, Figure, MetricSummary
from podium.sweep.values.errors import BadRequestError

MAX_FIGURES = 200  # of a request
_PREFIX = "metrics."
_FIGURE = re.compile(rf"({'|'.join(sorted(Figure, key=len, reverse=True))})\((.+)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MetricFigure:
    """A figure of a metric, such as the lowest value of `val/loss`."""

    figure: Figure
    metric: str

    @property
    def key(self) -> str:
        """The name of the column."""
        return f"{self.figure}({self.metric})"

    def of(self, summary: MetricSummary | None) -> float | int | None:
        """The figure in the summary of a trial; None: the trial has not logged the metric."""
        return None if summary is None else getattr(summary, self.figure)


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
    for text in texts:
        figure = parse_figure(text)
        if figure is None:
            raise BadRequestError(f"metrics={text}: write one of {', '.join(f'{each}(NAME)' for each in Figure)}")
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
    found = summaries.of_trials(connection, trial_ids, [each.metric for each in figures])
    marked = {each.name for each in found.values() if each.non_finite}
    wanted = [*figures, *(MetricFigure(Figure.NON_FINITE, name) for name in sorted(marked))]
    return {each.key: [each.of(found.get((id_, each.metric))) for id_ in trial_ids] for each in wanted}


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
