"""`podium ensemble ...`; CLI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.api.cli.commands import ensemble_traffic_and_drift
from podium.api.cli.terminal import ensemble_build_options as shared_options
from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir
from podium.api.client import shell_quoted_commands

if TYPE_CHECKING:
    from podium.api.client.client import Client
    from podium.api.client.ensemble_responses import EnsembleInfo

app = group()
version_app = group("Add and list versions of an ensemble.")
app.add_typer(version_app, name="version")

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="wait until its members are ready")]
Version = Annotated[int | None, typer.Option(metavar="N", help="version number; default: the active one")]


@app.command("build")
@shared_options.takes_version_options
def build(
    name: Annotated[str | None, typer.Option(help="default: the sweep's name with a number")] = None,
    wait: Wait = True,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
    **version: Any,
) -> None:
    """Build an ensemble of a sweep's best trials or of given ones. Ctrl-C stops waiting; the build continues."""
    body = lazy_imports.ensemble_build_request.request(**version, name=name)
    with lazy_imports.Client.of(data_dir) as client:
        ensemble = client.build_ensemble(**body)
        if wait:
            ensemble = lazy_imports.ensemble_output.follow(client, ensemble["id"], quiet=as_json)
    if as_json:
        lazy_imports.terminal_output.print_json(ensemble)
    elif wait:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.summary(ensemble))
    else:
        show = shell_quoted_commands.command(data_dir, "ensemble", "show", ensemble["id"])
        lazy_imports.terminal_output.console.print(f"{lazy_imports.ensemble_output.headline(ensemble)}; {show}")
    raise typer.Exit(0 if lazy_imports.serves(ensemble) or not wait else 1)


@version_app.command("add")
@shared_options.takes_version_options
def add_version(
    ensemble: shared_options.Name,
    canary: Annotated[
        float | None, typer.Option("--canary-share", metavar="SHARE", help="share of the requests, between 0 and 1")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
    **version: Any,
) -> None:
    """Build another version. It replaces the active one when ready, or serves a share as a canary until `promote`."""
    body = lazy_imports.ensemble_build_request.request(**version, canary_share=canary)
    with lazy_imports.Client.of(data_dir) as client:
        _print(client.add_version(ensemble, **body), as_json)


@version_app.command("list")
def list_versions(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the versions of an ensemble and their roles."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.ensemble(ensemble)
    if as_json:
        lazy_imports.terminal_output.print_json(found["versions"])
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.versions(found))


@app.command("list")
def list_ensembles(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the ensembles, newest first."""
    with lazy_imports.Client.of(data_dir) as client:
        found = list(client.ensembles())
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.listed(found))


@app.command("show")
def show_one(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show an ensemble and the state of each member."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.ensemble(ensemble)
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.summary(found))


@app.command("evaluate")
def evaluate(
    ensemble: shared_options.Name,
    split: Annotated[
        Literal["test", "calibration", "validation"] | None, typer.Option(help="the split to score; default test")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="your own rows instead: .npy or JSON; with --targets")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="their classes (name or index) or values: .npy or JSON")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="allow a split used for selection or fitting")] = False,
    version: Version = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Score the ensemble and its members.

    Compares it with the best member, and shows the score with fewer members.
    """
    if (inputs is None) != (targets is None):
        raise typer.BadParameter("--inputs and --targets must be given together")
    if inputs is not None and split is not None:
        raise typer.BadParameter("give either --split or --inputs with --targets")
    own: dict[str, Any] = {}
    if inputs is not None and targets is not None:
        own = {
            "inputs": lazy_imports.row_input.read(inputs),
            "targets": lazy_imports.row_input.read(targets, strings=True),
        }
    with lazy_imports.Client.of(data_dir) as client:
        found = client.evaluate(ensemble, split or "test", force=force, version=version, **own)
        about = client.ensemble(found["ensemble_id"])
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.evaluation(found, about))


@app.command("predict")
def predict(
    ensemble: shared_options.Name,
    file: Annotated[
        Path, typer.Option("--input", "-i", metavar="FILE", help="rows: .npy or JSON; -: standard input")
    ] = Path("-"),
    deadline_ms: Annotated[
        float | None, typer.Option("--deadline-ms", metavar="MS", help="default: the ensemble's")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Predict rows with an ensemble; shows what each member answered."""
    inputs = lazy_imports.row_input.read(file)
    with lazy_imports.Client.of(data_dir) as client:
        answer = client.predict(ensemble, inputs.reshape(1, -1) if inputs.ndim == 1 else inputs, deadline_ms)
    if as_json:
        lazy_imports.terminal_output.print_json(answer)
    else:
        lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.prediction(answer))


@app.command("start")
def start(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Start a stopped ensemble."""
    _change(lambda client: client.start_ensemble(ensemble), data_dir, as_json)


@app.command("stop")
def stop(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Stop an ensemble and release its devices. It can be started again."""
    _change(lambda client: client.stop_ensemble(ensemble), data_dir, as_json)


@app.command("retire")
def retire(ensembles: shared_options.Names, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Retire ensembles permanently. Evaluations are kept; names stay in use."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(
            ensembles,
            client.retire_ensemble,
            lambda one: lazy_imports.terminal_output.printable(lazy_imports.ensemble_output.headline(one)),
            as_json,
        )


@app.command("promote")
def promote(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Make the canary the active version."""
    _change(lambda client: client.promote(ensemble), data_dir, as_json)


@app.command("rollback")
def roll_back(ensemble: shared_options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Cancel the pending version, or return to the previous one."""
    _change(lambda client: client.roll_back(ensemble), data_dir, as_json)


app.command("traffic")(ensemble_traffic_and_drift.show_traffic)
app.command("events")(ensemble_traffic_and_drift.list_events)
app.command("drift")(ensemble_traffic_and_drift.show_drift)


def _change(change: Callable[[Client], EnsembleInfo], data_dir: Path, as_json: bool) -> None:
    with lazy_imports.Client.of(data_dir) as client:
        _print(change(client), as_json)


def _print(ensemble: EnsembleInfo, as_json: bool) -> None:
    if as_json:
        lazy_imports.terminal_output.print_json(ensemble)
        return
    lazy_imports.terminal_output.console.print(lazy_imports.ensemble_output.headline(ensemble))
    for line in lazy_imports.ensemble_output.pending_versions(ensemble):
        lazy_imports.terminal_output.console.print(line)
