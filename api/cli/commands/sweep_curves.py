"""`podium sweep curves`: the curves of metrics as CSV, per trial or combined by group; CLI."""

from __future__ import annotations

import csv
import sys
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId


def show_curves(
    sweep_id: SweepId,
    metrics: Annotated[
        list[str] | None, typer.Argument(metavar="[METRIC]...", help="default: list the names of the metrics")
    ] = None,
    x: Annotated[str, typer.Option("--x", metavar="AXIS", help="step, time, runtime or metric:NAME")] = "step",
    group: Annotated[
        str | None, typer.Option("--group", metavar="BY", help="mean, minimum and maximum by params.NAME, tag or state")
    ] = None,
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="only matching trials: 'state:finished lr<0.01'")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="trials: the best ones and those that run")
    ] = 100,
    points: Annotated[int, typer.Option("--points", min=4, max=5000, help="of each curve")] = 400,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Print curves as CSV: a row per point.

    Long curves are thinned; their ends, minima and maxima are kept.
    """
    with lazy_imports.Client.of(data_dir) as client:
        if not metrics:
            names = client.metric_names(sweep_id, filter=filter_text)
            if as_json:
                lazy_imports.terminal_output.print_json(names)
            else:
                for name in names:
                    lazy_imports.terminal_output.console.print(name["name"], highlight=False, markup=False)
            return
        grid = client.curves(
            sweep_id,
            metrics,
            x=x,
            filter=filter_text,
            group=group,
            bands=group is not None,
            limit=limit,
            max_points=points,
        )
    if as_json:
        lazy_imports.terminal_output.print_json(grid)
        return
    rows = lazy_imports.multi_metric_curve_responses
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(rows.LINE_COLUMNS if group is None else rows.BAND_COLUMNS)
    table.writerows(rows.rows_of(grid))
