"""`podium ensemble traffic`, `events` and `drift`: what an ensemble has answered, and what happened to it; CLI."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.api.cli.terminal import ensemble_build_options as shared_options
from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir


def show_traffic(
    ensemble: shared_options.Name,
    minutes: Annotated[int, typer.Option("--minutes", min=1, max=1440, help="how far back")] = 15,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show recent requests, latency and late replies."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.traffic(ensemble, minutes)
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_traffic_and_drift_output.traffic(found))


def list_events(
    ensemble: shared_options.Name,
    limit: Annotated[int, typer.Option(min=1, max=500, help="maximum number of events")] = 50,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the events of an ensemble, newest first."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.ensemble_events(ensemble, limit)
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_traffic_and_drift_output.events(found))


def show_drift(
    ensemble: shared_options.Name,
    most: Annotated[int, typer.Option("--most", min=1, max=100, help="features to show")] = 10,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Compare recent inputs with the training rows."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.drift(ensemble, most)
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_traffic_and_drift_output.drift(found))
