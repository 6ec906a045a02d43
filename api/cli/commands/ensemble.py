"""`podium ensemble ...`; cli."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.api.cli.terminal import ensemble_options as options
from podium.api.cli.terminal.batch_commands import each
from podium.api.cli.terminal.lazy_groups import QuickGroup
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir

if TYPE_CHECKING:
    from podium.api.client.client import Client

app = typer.Typer(cls=QuickGroup, help="Build ensembles of trials, measure them, and ask them.", no_args_is_help=True)
version_app = typer.Typer(cls=QuickGroup, help="Other versions of an ensemble.", no_args_is_help=True)
app.add_typer(version_app, name="version")

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="until its members are ready")]
Version = Annotated[int | None, typer.Option(metavar="N", help="which version; default: the active one")]


@app.command("build")
def build(
    sweep_id: options.Sweep = None,
    trials: options.Trials = None,
    k: options.K = None,
    select: options.Selecting = None,
    bags: options.Bags = None,
    combine: options.Combining = None,
    weights: options.Weights = None,
    calibrate: options.Calibrate = None,
    fit_on: options.FitOn = None,
    force: options.Force = None,
    mode: options.Modes = None,
    deadline_ms: options.DeadlineMs = None,
    quorum: options.Quorum = None,
    replicas: options.Replicas = None,
    placement: options.Placing = None,
    precision: options.Precise = None,
    name: Annotated[str | None, typer.Option(help="default: the sweep's, with a number")] = None,
    wait: Wait = True,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Build an ensemble of a sweep's best trials, or of named ones. Ctrl-C stops the waiting, not the building."""
    from podium.api.cli.terminal import ensemble_output, terminal_output
    from podium.api.client import shell_commands  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client, serves

    body = options.request(
        sweep_id, weights, trial_ids=trials, k=k, select=select, bags=bags, combine=combine, calibrate=calibrate,
        fit_on=fit_on, force=force, mode=mode, deadline_ms=deadline_ms, quorum=quorum, replicas=replicas,
        placement=placement, precision=precision, name=name,
    )  # fmt: skip
    with Client.of(data_dir) as client:
        ensemble = client.build_ensemble(**body)
        if wait:
            ensemble = ensemble_output.follow(client, ensemble["id"], quiet=as_json)
    if as_json:
        terminal_output.print_json(ensemble)
    elif wait:
        terminal_output.console.print(ensemble_output.summary(ensemble))
    else:
        look = shell_commands.command(data_dir, "ensemble", "show", ensemble["id"])
        terminal_output.console.print(f"{ensemble_output.headline(ensemble)}; {look}")
    raise typer.Exit(0 if serves(ensemble) or not wait else 1)


@version_app.command("add")
def add_version(
    ensemble: options.Name,
    sweep_id: options.Sweep = None,
    trials: options.Trials = None,
    k: options.K = None,
    select: options.Selecting = None,
    bags: options.Bags = None,
    combine: options.Combining = None,
    weights: options.Weights = None,
    calibrate: options.Calibrate = None,
    fit_on: options.FitOn = None,
    force: options.Force = None,
    mode: options.Modes = None,
    deadline_ms: options.DeadlineMs = None,
    quorum: options.Quorum = None,
    replicas: options.Replicas = None,
    placement: options.Placing = None,
    precision: options.Precise = None,
    canary: Annotated[
        float | None, typer.Option("--canary-share", metavar="SHARE", help="of the requests, above 0 and below 1")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Build another version. It takes over when it is ready, or as a canary answers a share until `promote`."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    body = options.request(
        sweep_id, weights, trial_ids=trials, k=k, select=select, bags=bags, combine=combine, calibrate=calibrate,
        fit_on=fit_on, force=force, mode=mode, deadline_ms=deadline_ms, quorum=quorum, replicas=replicas,
        placement=placement, precision=precision, canary_share=canary,
    )  # fmt: skip
    with Client.of(data_dir) as client:
        _told(client.add_version(ensemble, **body), as_json)


@version_app.command("list")
def list_versions(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the versions of an ensemble, and say which one answers."""
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        found = client.ensemble(ensemble)["versions"]
    if as_json:
        terminal_output.print_json(found)
    else:
        terminal_output.console.print(ensemble_output.versions(found))


@app.command("list")
def list_ensembles(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the ensembles, newest first."""
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        found = list(client.ensembles())
    if as_json:
        terminal_output.print_json(found)
    else:
        terminal_output.console.print(ensemble_output.listed(found))


@app.command("show")
def show_one(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show one ensemble, and how each member does."""
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        found = client.ensemble(ensemble)
    if as_json:
        terminal_output.print_json(found)
    else:
        terminal_output.console.print(ensemble_output.summary(found))


@app.command("evaluate")
def evaluate(
    ensemble: options.Name,
    split: Annotated[
        Literal["test", "calibration", "validation"] | None, typer.Option(help="the rows to score; default test")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="or rows of your own: .npy or JSON; with --targets")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="their classes, by name or number, or values: .npy or JSON")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="a split that something was chosen or fitted by")] = False,
    version: Version = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Score the ensemble beside its members.

    Is it better, by how much, and how many members must answer?
    """
    from podium.api.cli.terminal import (  # rich, numpy and the HTTP client: not for --help
        ensemble_output,
        row_input,
        terminal_output,
    )
    from podium.api.client.client import Client

    if (inputs is None) != (targets is None):
        raise typer.BadParameter("--inputs and --targets go together")
    if inputs is not None and split is not None:
        raise typer.BadParameter("give --split, or --inputs with --targets; one of the two")
    own: dict[str, Any] = {}
    if inputs is not None and targets is not None:
        own = {"inputs": row_input.read(inputs), "targets": row_input.read(targets, words=True)}
    with Client.of(data_dir) as client:
        found = client.evaluate(ensemble, split or "test", force=force, version=version, **own)
        about = client.ensemble(found["ensemble_id"])
    if as_json:
        terminal_output.print_json(found)
    else:
        terminal_output.console.print(ensemble_output.evaluation(found, about))


@app.command("predict")
def predict(
    ensemble: options.Name,
    file: Annotated[
        Path, typer.Option("--input", "-i", metavar="FILE", help="rows: .npy or JSON; - is standard input")
    ] = Path("-"),
    deadline_ms: Annotated[
        float | None, typer.Option("--deadline-ms", metavar="MS", help="default: the ensemble's")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Ask an ensemble about some rows; says what each member did."""
    from podium.api.cli.terminal import (  # rich, numpy and the HTTP client: not for --help
        ensemble_output,
        row_input,
        terminal_output,
    )
    from podium.api.client.client import Client

    inputs = row_input.read(file)
    with Client.of(data_dir) as client:
        answer = client.predict(ensemble, inputs.reshape(1, -1) if inputs.ndim == 1 else inputs, deadline_ms)
    if as_json:
        terminal_output.print_json(answer)
    else:
        terminal_output.console.print(ensemble_output.prediction(answer))


@app.command("start")
def start(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Have its members again, after it was stopped."""
    _tell(lambda client: client.start_ensemble(ensemble), data_dir, as_json)


@app.command("stop")
def stop(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End its members and give their devices back. It can be started again."""
    _tell(lambda client: client.stop_ensemble(ensemble), data_dir, as_json)


@app.command("retire")
def retire(ensembles: options.Names, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End ensembles for good. Their evaluations stay, and their names stay taken."""
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        each(
            ensembles,
            client.retire_ensemble,
            lambda one: terminal_output.printable(ensemble_output.headline(one)),
            as_json,
        )


@app.command("promote")
def promote(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Let the canary answer everything."""
    _tell(lambda client: client.promote(ensemble), data_dir, as_json)


@app.command("rollback")
def roll_back(ensemble: options.Name, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Drop the version on its way, or go back to the one before."""
    _tell(lambda client: client.roll_back(ensemble), data_dir, as_json)


def _tell(change: Callable[[Client], dict[str, Any]], data_dir: Path, as_json: bool) -> None:
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        _told(change(client), as_json)


def _told(ensemble: dict[str, Any], as_json: bool) -> None:
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich: not for --help

    if as_json:
        terminal_output.print_json(ensemble)
        return
    terminal_output.console.print(ensemble_output.headline(ensemble))
    for line in ensemble_output.on_its_way(ensemble):
        terminal_output.console.print(line)
