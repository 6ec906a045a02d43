"""`podium sweep ...`; cli."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from api.commands import convert, transfer, validate
from api.commands.each import each
from api.commands.options import DEFAULT_DATA_DIR, AsJson, DataDir, Devices, SpecFile, SweepId, SweepIds
from api.commands.quick import QuickGroup
from sweep.trial import SweepState

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
    from api import local, progress, show, show_ensemble  # rich and the HTTP client: not for --help
    from api.client import serves
    from api.commands import sweep_files

    read, document, _ = sweep_files.read(file)
    sweep_files.say_notes(read)
    with local.service(data_dir.absolute(), devices) as client:
        sweep = sweep_files.submit(client, read, document)
        with local.cancelled_on_interrupt(client, sweep["id"]):
            if as_json:
                sweep = client.wait(sweep["id"])
            else:
                show.console.print(f"sweep {sweep['id']} {sweep['name']!r} on {client.url}")
                if sweep["warm_start"] is not None:
                    show.console.print(show.warm_start(sweep["warm_start"]))
                (sweep,) = progress.follow(client, [sweep["id"]])
        best = show.top(client, sweep)
        if not as_json:
            show.console.print(show.printable(f"{sweep['state']}: {sweep['reason']} ({show.counts(sweep)})"))
            if best:
                show.console.print(show.top_table(sweep, best))
        ensemble = None
        if wanted := sweep["state"] == "finished" and "ensemble" in sweep["spec"]:
            ensemble = show_ensemble.follow_block(client, sweep, quiet=as_json)
            sweep = client.sweep(sweep["id"])
    if as_json:
        show.print_json({**sweep, "top": best, "ensemble": ensemble})
    elif wanted:
        show.console.print("")
        show.console.print(show_ensemble.summary(ensemble) if ensemble else _no_ensemble(sweep))
    done = sweep["state"] == "finished" and (not wanted or (ensemble is not None and serves(ensemble)))
    raise typer.Exit(0 if done else 1)


@app.command("submit")
def submit(file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Submit a sweep to the running service, and return at once."""
    from api import show, to_copy  # rich and the HTTP client: not for --help
    from api.client import Client
    from api.commands import sweep_files

    read, document, _ = sweep_files.read(file)
    sweep_files.say_notes(read)
    with Client.of(data_dir) as client:
        sweep = sweep_files.submit(client, read, document)
    if as_json:
        show.print_json(sweep)
    else:
        look = to_copy.command(data_dir, "sweep", "show", sweep["id"])
        show.console.print(f"sweep {sweep['id']} {sweep['name']!r} is {sweep['state']}; {look}")


@app.command("show")
def show_sweep(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show one sweep and its best trials."""
    from api import show, show_ensemble  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        sweep = client.sweep(sweep_id)
        best = show.top(client, sweep)
        built = [client.ensemble(ensemble_id) for ensemble_id in sweep["ensembles"]]
    if as_json:
        show.print_json({**sweep, "top": best})
        return
    reason = f" ({sweep['reason']})" if sweep["reason"] else ""
    show.console.print(show.printable(f"sweep {sweep['id']} {sweep['name']!r}: {sweep['state']}{reason}"))
    show.console.print(f"{show.counts(sweep) or 'no trials yet'}; {show.best(sweep)}")
    for warning in show.warnings(sweep):
        show.console.print(warning)
    if used := show.budget(sweep):
        show.console.print(f"budget: {used}")
    if sweep["warm_start"] is not None:
        show.console.print(show.warm_start(sweep["warm_start"]))
    if best:
        show.console.print(show.top_table(sweep, best))
    for line in show.provenance(sweep):
        show.console.print(line)
    for ensemble in built:
        show.console.print(show_ensemble.headline(ensemble))
    if sweep["ensemble_error"] is not None:
        show.console.print(_no_ensemble(sweep))


@app.command("packages")
def packages(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR) -> None:
    """List the installed packages of a submission."""
    from api.client import Client  # the HTTP client: not for --help

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
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        found = list(itertools.islice(client.sweeps(None if state is None else state.value), limit))
    if as_json:
        show.print_json(found)
        return
    rows = [
        (
            s["id"],
            s["name"],
            show.state(s["state"]),
            sum(s["counts"].values()),
            show.number((s["best"] or {}).get("value")),
            "; ".join(filter(None, [s["reason"], *map(str, show.warnings(s))])),
        )
        for s in found
    ]
    show.console.print(show.table(None, ("id", "name", "state", "trials", "best", "reason"), rows))


@app.command("watch")
def watch(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Follow sweeps to their ends.

    Exits with 0 if all finished, 1 if not. Ctrl-C ends the watching, not the sweeps.
    """
    from api import progress, show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        try:
            ended = [client.wait(one) for one in sweep_ids] if as_json else progress.follow(client, sweep_ids)
        except KeyboardInterrupt:
            print(_goes_on(sweep_ids, data_dir), file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        show.print_json(ended[0] if len(ended) == 1 else ended)
    else:
        for sweep in ended:
            name = f"sweep {sweep['id']} " if len(ended) > 1 else ""
            show.console.print(f"{name}{sweep['state']}: {sweep['reason']} ({show.counts(sweep)})")
    raise typer.Exit(0 if all(sweep["state"] == "finished" for sweep in ended) else 1)


def _goes_on(sweep_ids: list[int], data_dir: Path) -> str:
    from api import to_copy  # the layout of the data directory: not for --help

    ids = " ".join(map(str, sweep_ids))
    sweeps = f"sweep {ids} goes" if len(sweep_ids) == 1 else f"sweeps {ids} go"
    watch, cancel = (to_copy.command(data_dir, "sweep", what, *sweep_ids) for what in ("watch", "cancel"))
    return f"{sweeps} on; `{watch}` follows again, `{cancel}` ends what runs"


@app.command("pause")
def pause(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Start nothing new of sweeps. What runs goes on to its end."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.pause_sweep, _now, as_json)


@app.command("resume")
def resume(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Go on with paused sweeps."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.resume_sweep, _now, as_json)


@app.command("stop")
def stop(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Let what runs of these sweeps end, then finish them."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(sweep_ids, client.stop_sweep, _now, as_json)


@app.command("cancel")
def cancel(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End sweeps now; what runs is killed."""
    from api.client import Client  # the HTTP client: not for --help

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
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        if plateau is not None:
            known = client.sweep(sweep_id)["budget"]["plateau"] or {"min_delta": 0.0}
            budget["plateau"] = {"trials": plateau, "min_delta": known["min_delta"]}
        wanted = run_cap if by is None else client.sweep(sweep_id)["run_cap"] + by
        terms = {**({"budget": budget} if budget else {}), **({} if target is None else {"target": target})}
        sweep = client.extend_sweep(sweep_id, wanted, priority=priority, **terms)
    if as_json:
        show.print_json(sweep)
    else:
        used = show.budget(sweep)
        print(f"{_now(sweep)}: up to {sweep['run_cap']} trials, priority {sweep['priority']:g}{used and '; ' + used}")


def _now(sweep: dict[str, Any]) -> str:
    return f"sweep {sweep['id']} is {sweep['state']}"


def _no_ensemble(sweep: dict[str, Any]) -> str:
    return f"no ensemble: {sweep['ensemble_error']}"


app.command("convert")(convert.convert)
app.command("export")(transfer.export_sweep)
app.command("import")(transfer.import_sweep)
