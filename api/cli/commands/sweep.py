"""`podium sweep ...`; cli."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.api.cli.commands import convert, transfer, validate
from podium.api.cli.terminal.batch_commands import each
from podium.api.cli.terminal.lazy_groups import QuickGroup
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, Devices, SpecFile, SweepId, SweepIds
from podium.sweep.values.trial import SweepState

app = typer.Typer(cls=QuickGroup, help="Submit sweeps, follow and steer them.", no_args_is_help=True)
app.command("validate")(validate.validate)
INTERRUPTED = 130


@app.command("run")
def run(
    file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, devices: Devices = "auto", as_json: AsJson = False
) -> None:
    """Run a sweep to its end, and build its ensemble.

    On the running service, or on one started for it. Ctrl-C cancels it. Exits with 0 if it finished, 1 if not.
    """
    from podium.api.cli.terminal import (  # rich and the HTTP client: not for --help
        ensemble_output,
        sweep_progress,
        terminal_output,
    )
    from podium.api.client import local_service, sweep_submission
    from podium.api.client.client import serves

    read, document, _ = sweep_submission.read(file)
    sweep_submission.say_notes(read)
    with local_service.service(data_dir.absolute(), devices) as client:
        sweep = sweep_submission.submit(client, read, document)
        with local_service.cancelled_on_interrupt(client, sweep["id"]):
            if as_json:
                sweep = client.wait(sweep["id"])
            else:
                terminal_output.console.print(f"sweep {sweep['id']} {sweep['name']!r} on {client.url}")
                if sweep["warm_start"] is not None:
                    terminal_output.console.print(terminal_output.warm_start(sweep["warm_start"]))
                (sweep,) = sweep_progress.follow(client, [sweep["id"]])
        best = terminal_output.top(client, sweep)
        if not as_json:
            terminal_output.console.print(
                terminal_output.printable(f"{sweep['state']}: {sweep['reason']} ({terminal_output.counts(sweep)})")
            )
            if best:
                terminal_output.console.print(terminal_output.top_table(sweep, best))
        ensemble = None
        if wanted := sweep["state"] == "finished" and "ensemble" in sweep["spec"]:
            ensemble = ensemble_output.follow_block(client, sweep, quiet=as_json)
            sweep = client.sweep(sweep["id"])
    if as_json:
        terminal_output.print_json({**sweep, "top": best, "ensemble": ensemble})
    elif wanted:
        terminal_output.console.print("")
        terminal_output.console.print(ensemble_output.summary(ensemble) if ensemble else _no_ensemble(sweep))
    done = sweep["state"] == "finished" and (not wanted or (ensemble is not None and serves(ensemble)))
    raise typer.Exit(0 if done else 1)


@app.command("submit")
def submit(file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Submit a sweep to the running service, and return at once."""
    from podium.api.cli.terminal import terminal_output
    from podium.api.client import (
        shell_commands,  # rich and the HTTP client: not for --help
        sweep_submission,
    )
    from podium.api.client.client import Client

    read, document, _ = sweep_submission.read(file)
    sweep_submission.say_notes(read)
    with Client.of(data_dir) as client:
        sweep = sweep_submission.submit(client, read, document)
    if as_json:
        terminal_output.print_json(sweep)
    else:
        look = shell_commands.command(data_dir, "sweep", "show", sweep["id"])
        terminal_output.console.print(f"sweep {sweep['id']} {sweep['name']!r} is {sweep['state']}; {look}")


@app.command("show")
def show_sweep(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show one sweep and its best trials."""
    from podium.api.cli.terminal import ensemble_output, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        sweep = client.sweep(sweep_id)
        best = terminal_output.top(client, sweep)
        built = [client.ensemble(ensemble_id) for ensemble_id in sweep["ensembles"]]
    if as_json:
        terminal_output.print_json({**sweep, "top": best})
        return
    reason = f" ({sweep['reason']})" if sweep["reason"] else ""
    terminal_output.console.print(
        terminal_output.printable(f"sweep {sweep['id']} {sweep['name']!r}: {sweep['state']}{reason}")
    )
    terminal_output.console.print(f"{terminal_output.counts(sweep) or 'no trials yet'}; {terminal_output.best(sweep)}")
    for warning in terminal_output.warnings(sweep):
        terminal_output.console.print(warning)
    if used := terminal_output.budget(sweep):
        terminal_output.console.print(f"budget: {used}")
    if sweep["warm_start"] is not None:
        terminal_output.console.print(terminal_output.warm_start(sweep["warm_start"]))
    if best:
        terminal_output.console.print(terminal_output.top_table(sweep, best))
    for line in terminal_output.provenance(sweep):
        terminal_output.console.print(line)
    for ensemble in built:
        terminal_output.console.print(ensemble_output.headline(ensemble))
    if sweep["ensemble_error"] is not None:
        terminal_output.console.print(_no_ensemble(sweep))


@app.command("packages")
def packages(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR) -> None:
    """List the installed packages of a submission."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        print(client.packages(sweep_id), end="")


@app.command("list")
def list_sweeps(
    state: Annotated[SweepState | None, typer.Option(help="only those in this state")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="at most so many")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the sweeps, newest first."""
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        found = list(itertools.islice(client.sweeps(None if state is None else state.value), limit))
    if as_json:
        terminal_output.print_json(found)
        return
    rows = [
        (
            s["id"],
            s["name"],
            terminal_output.state(s["state"]),
            sum(s["counts"].values()),
            terminal_output.number((s["best"] or {}).get("value")),
            "; ".join(filter(None, [s["reason"], *map(str, terminal_output.warnings(s))])),
        )
        for s in found
    ]
    terminal_output.console.print(
        terminal_output.table(None, ("id", "name", "state", "trials", "best", "reason"), rows)
    )


@app.command("watch")
def watch(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Follow sweeps to their ends.

    Exits with 0 if all finished, 1 if not. Ctrl-C ends the watching, not the sweeps.
    """
    from podium.api.cli.terminal import sweep_progress, terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        try:
            ended = [client.wait(one) for one in sweep_ids] if as_json else sweep_progress.follow(client, sweep_ids)
        except KeyboardInterrupt:
            print(_goes_on(sweep_ids, data_dir), file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        terminal_output.print_json(ended[0] if len(ended) == 1 else ended)
    else:
        for sweep in ended:
            name = f"sweep {sweep['id']} " if len(ended) > 1 else ""
            terminal_output.console.print(
                f"{name}{sweep['state']}: {sweep['reason']} ({terminal_output.counts(sweep)})"
            )
    raise typer.Exit(0 if all(sweep["state"] == "finished" for sweep in ended) else 1)


def _goes_on(sweep_ids: list[int], data_dir: Path) -> str:
    from podium.api.client import shell_commands  # the layout of the data directory: not for --help

    ids = " ".join(map(str, sweep_ids))
    sweeps = f"sweep {ids} goes" if len(sweep_ids) == 1 else f"sweeps {ids} go"
    watch, cancel = (shell_commands.command(data_dir, "sweep", what, *sweep_ids) for what in ("watch", "cancel"))
    return f"{sweeps} on; `{watch}` follows again, `{cancel}` ends what runs"


@app.command("pause")
def pause(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Start nothing new of sweeps. What runs goes on to its end."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.pause_sweep, _now, as_json)


@app.command("resume")
def resume(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Go on with paused sweeps."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.resume_sweep, _now, as_json)


@app.command("stop")
def stop(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Let what runs of these sweeps end, then finish them."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.stop_sweep, _now, as_json)


@app.command("cancel")
def cancel(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End sweeps now; what runs is killed."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.cancel_sweep, _now, as_json)


@app.command("extend")
def extend(
    sweep_id: SweepId,
    run_cap: Annotated[int | None, typer.Option(help="trials that count, in all; it only goes up")] = None,
    by: Annotated[int | None, typer.Option(min=1, help="as many more")] = None,
    priority: Annotated[float | None, typer.Option(help="share of the devices' time, beside other sweeps'")] = None,
    wall_s: Annotated[float | None, typer.Option(help="budget.wall_s from now on")] = None,
    device_s: Annotated[float | None, typer.Option(help="budget.device_s from now on")] = None,
    plateau: Annotated[int | None, typer.Option(min=1, help="budget.plateau.trials from now on")] = None,
    target: Annotated[float | None, typer.Option(help="of the metric, from now on")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Give a sweep more trials or time, or another priority.

    A finished one goes on with all it knows.
    """
    budget: dict[str, Any] = {"wall_s": wall_s, "device_s": device_s}
    budget = {name: value for name, value in budget.items() if value is not None}
    others = bool(budget) or not (priority is plateau is target is None)
    if (run_cap is None) == (by is None) and (by is not None or not others):
        raise typer.BadParameter("give one of --run-cap and --by, or --priority, or a budget")
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        if plateau is not None:
            known = client.sweep(sweep_id)["budget"]["plateau"] or {"min_delta": 0.0}
            budget["plateau"] = {"trials": plateau, "min_delta": known["min_delta"]}
        wanted = run_cap if by is None else client.sweep(sweep_id)["run_cap"] + by
        terms = {**({"budget": budget} if budget else {}), **({} if target is None else {"target": target})}
        sweep = client.extend_sweep(sweep_id, wanted, priority=priority, **terms)
    if as_json:
        terminal_output.print_json(sweep)
    else:
        used = terminal_output.budget(sweep)
        print(f"{_now(sweep)}: up to {sweep['run_cap']} trials, priority {sweep['priority']:g}{used and '; ' + used}")


def _now(sweep: dict[str, Any]) -> str:
    return f"sweep {sweep['id']} is {sweep['state']}"


def _no_ensemble(sweep: dict[str, Any]) -> str:
    return f"no ensemble: {sweep['ensemble_error']}"


app.command("convert")(convert.convert)
app.command("export")(transfer.export_sweep)
app.command("import")(transfer.import_sweep)
