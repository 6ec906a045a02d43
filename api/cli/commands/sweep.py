"""`podium sweep ...`; CLI."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.api.cli.commands import (
    sweep_convert,
    sweep_curves,
    sweep_export,
    sweep_import,
    sweep_metadata,
    sweep_validate,
)
from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import (
    DEFAULT_DATA_DIR,
    AsJson,
    DataDir,
    Devices,
    Project,
    SpecFile,
    SpecFiles,
    SweepId,
    SweepIds,
)
from podium.api.client import shell_quoted_commands
from podium.sweep.values.states import SweepState

if TYPE_CHECKING:
    from podium.api.client.sweep_responses import SweepInfo

app = group()
app.command("validate")(sweep_validate.validate)
INTERRUPTED = 130


@app.command("run")
def run(
    file: SpecFile,
    project: Project = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    devices: Devices = "auto",
    as_json: AsJson = False,
) -> None:
    """Run a sweep to completion and build its ensemble.

    Uses the running service, or starts one for this sweep. Ctrl-C cancels the sweep. Exits with 0 if it finished,
    with 1 otherwise.
    """
    output, submission = lazy_imports.terminal_output, lazy_imports.sweep_file_document
    read, document, _ = submission.read(file)
    submission.print_notes(read)
    if project is not None:
        document = {**document, "project": project}
    with lazy_imports.service_for_command.service(data_dir.absolute(), devices) as client:
        sweep = submission.submit(client.submit, read, document)
        with lazy_imports.service_for_command.cancelled_on_interrupt(client, sweep["id"]):
            if as_json:
                sweep = client.wait(sweep["id"])
            else:
                output.console.print(f"sweep {sweep['id']} {sweep['name']!r} on {client.url}")
                if sweep["warm_start"] is not None:
                    output.console.print(lazy_imports.sweep_output.warm_start(sweep["warm_start"]))
                (sweep,) = lazy_imports.sweep_progress.follow(client, [sweep["id"]])
        best = lazy_imports.sweep_output.top(client, sweep)
        if not as_json:
            output.console.print(output.printable(_ended(sweep)))
            if best:
                output.console.print(lazy_imports.sweep_output.top_table(sweep, best))
        ensemble = None
        if has_ensemble := sweep["state"] == "finished" and "ensemble" in sweep["spec"]:
            ensemble = lazy_imports.ensemble_output.follow_block(client, sweep, quiet=as_json)
            sweep = client.sweep(sweep["id"])
    if as_json:
        output.print_json({**sweep, "top": best, "ensemble": ensemble})
    elif has_ensemble:
        output.console.print("")
        output.console.print(lazy_imports.ensemble_output.summary(ensemble) if ensemble else _no_ensemble(sweep))
    done = sweep["state"] == "finished" and (
        not has_ensemble or (ensemble is not None and lazy_imports.serves(ensemble))
    )
    raise typer.Exit(0 if done else 1)


@app.command("submit")
def submit(
    files: SpecFiles,
    chain: Annotated[bool, typer.Option("--chain", help="each sweep starts when the one before has finished")] = False,
    after: Annotated[
        list[str] | None, typer.Option(help="id or name of an earlier sweep that must finish first; repeatable")
    ] = None,
    project: Project = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Submit sweeps to the running service and return immediately.

    With --chain, `after` and `fix_from` of a file may name the sweep of a file before it.
    """
    submission, earlier = (
        lazy_imports.sweep_chain_submission,
        [int(each) if each.isdecimal() else each for each in after or ()],
    )
    if chain and len(files) == 1:
        raise typer.BadParameter("--chain needs at least two files")
    read = submission.read_all(files, project)
    with lazy_imports.Client.of(data_dir) as client:
        sweeps = submission.submit_all(client, read, after=earlier, chain=chain)
    if as_json:
        lazy_imports.terminal_output.print_json(sweeps[0] if len(sweeps) == 1 else sweeps)
        return
    for sweep in sweeps:
        show = shell_quoted_commands.command(data_dir, "sweep", "show", sweep["id"])
        behind = f", after {lazy_imports.sweep_output.linked(sweep['predecessors'])}" if sweep["predecessors"] else ""
        lazy_imports.terminal_output.console.print(
            f"sweep {sweep['id']} {sweep['name']!r} is {sweep['state']}{behind}; {show}"
        )


@app.command("show")
def show_sweep(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show a sweep and its best trials."""
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        sweep = client.sweep(sweep_id)
        best = lazy_imports.sweep_output.top(client, sweep)
        built = [client.ensemble(ensemble_id) for ensemble_id in sweep["ensembles"]]
    if as_json:
        output.print_json({**sweep, "top": best})
        return
    why = lazy_imports.sweep_output.reason(sweep)
    reason = f" ({why})" if why else ""
    output.console.print(output.printable(f"sweep {sweep['id']} {sweep['name']!r}: {sweep['state']}{reason}"))
    output.console.print(
        f"{lazy_imports.sweep_output.counts(sweep) or 'no trials yet'}; {lazy_imports.sweep_output.best(sweep)}"
    )
    for line in (*lazy_imports.sweep_output.details(sweep), *lazy_imports.sweep_output.chain(sweep)):
        output.console.print(line)
    for warning in lazy_imports.sweep_output.warnings(sweep):
        output.console.print(warning)
    if used := lazy_imports.sweep_output.budget(sweep):
        output.console.print(f"budget: {used}")
    if progress := lazy_imports.sweep_output.population(sweep):
        output.console.print(progress)
    if sweep["warm_start"] is not None:
        output.console.print(lazy_imports.sweep_output.warm_start(sweep["warm_start"]))
    if best:
        output.console.print(lazy_imports.sweep_output.top_table(sweep, best))
    for line in lazy_imports.sweep_output.provenance(sweep):
        output.console.print(line)
    for ensemble in built:
        output.console.print(lazy_imports.ensemble_output.headline(ensemble))
    if sweep["ensemble_error"] is not None:
        output.console.print(_no_ensemble(sweep))


@app.command("failures")
def failures(
    sweep_id: SweepId,
    filter: Annotated[str | None, typer.Option(help="only trials that match this filter")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show why trials of a sweep failed, by message."""
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        found = client.failures(sweep_id, filter)
    if as_json:
        output.print_json(found)
        return
    if not found["groups"]:
        output.console.print("no failed trials")
        return
    rows = [
        (group["count"], group["cause"] or "", group["location"] or "", ", ".join(group["devices"]),
         f"trial {group['first_number']}", group["first_message"])
        for group in found["groups"]
    ]  # fmt: skip
    output.console.print(output.table(None, ("trials", "cause", "line", "devices", "first", "message"), rows))
    if found["examined"] < found["failed"]:
        output.console.print(f"the newest {found['examined']} of {found['failed']} failed trials")


@app.command("packages")
def packages(sweep_id: SweepId, data_dir: DataDir = DEFAULT_DATA_DIR) -> None:
    """List the packages installed when a sweep was submitted."""
    with lazy_imports.Client.of(data_dir) as client:
        print(client.packages(sweep_id), end="")


@app.command("list")
def list_sweeps(
    state: Annotated[SweepState | None, typer.Option(help="only sweeps in this state")] = None,
    project: Annotated[str | None, typer.Option(help="only sweeps of this project")] = None,
    filter_text: Annotated[
        str | None,
        typer.Option("--filter", metavar="FILTER", help="only matching sweeps: 'tag:baseline is:starred'"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="maximum number of sweeps")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the sweeps, newest first.

    Archived sweeps only with `--filter is:archived`.
    """
    output = lazy_imports.terminal_output
    terms = [*([] if project is None else [f"project:{json.dumps(project, ensure_ascii=False)}"]), filter_text or ""]
    only = " ".join(filter(None, terms)) or None
    with lazy_imports.Client.of(data_dir) as client:
        found = list(itertools.islice(client.sweeps(None if state is None else state.value, only), limit))
    if as_json:
        output.print_json(found)
        return
    rows = [
        (
            sweep["id"],
            f"{'★ ' if sweep['starred'] else ''}{sweep['name']}",
            sweep["project"],
            output.state(sweep["state"]),
            sum(sweep["counts"].values()),
            output.number(None if sweep["best"] is None else sweep["best"]["value"]),
            "; ".join(
                filter(
                    None,
                    [lazy_imports.sweep_output.reason(sweep), *map(str, lazy_imports.sweep_output.warnings(sweep))],
                )
            ),
        )
        for sweep in found
    ]
    output.console.print(output.table(None, ("id", "name", "project", "state", "trials", "best", "reason"), rows))


@app.command("watch")
def watch(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Follow sweeps until they end.

    Exits with 0 if all finished, with 1 otherwise. Ctrl-C stops watching; the sweeps continue.
    """
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        try:
            if as_json:
                ended = [client.wait(sweep_id) for sweep_id in sweep_ids]
            else:
                ended = lazy_imports.sweep_progress.follow(client, sweep_ids)
        except KeyboardInterrupt:
            print(_still_running(sweep_ids, data_dir), file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        output.print_json(ended[0] if len(ended) == 1 else ended)
    else:
        for sweep in ended:
            name = f"sweep {sweep['id']} " if len(ended) > 1 else ""
            output.console.print(f"{name}{_ended(sweep)}")
    raise typer.Exit(0 if all(sweep["state"] == "finished" for sweep in ended) else 1)


def _ended(sweep: SweepInfo) -> str:
    """How a sweep has ended, in one line."""
    shown = lazy_imports.sweep_output
    return f"{sweep['state']}: {shown.reason(sweep)} ({shown.counts(sweep)})"


def _still_running(sweep_ids: list[int], data_dir: Path) -> str:
    ids = " ".join(map(str, sweep_ids))
    sweeps = f"sweep {ids} continues" if len(sweep_ids) == 1 else f"sweeps {ids} continue"
    watch, cancel = (shell_quoted_commands.command(data_dir, "sweep", what, *sweep_ids) for what in ("watch", "cancel"))
    return f"{sweeps}; `{watch}` to follow again, `{cancel}` to cancel"


@app.command("pause")
def pause(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Start no new trials of sweeps. Running trials complete."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, client.pause_sweep, _state, as_json)


@app.command("resume")
def resume(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Resume paused sweeps."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, client.resume_sweep, _state, as_json)


@app.command("stop")
def stop(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Finish sweeps after their running trials complete."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, client.stop_sweep, _state, as_json)


@app.command("cancel")
def cancel(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Cancel sweeps; running trials are killed."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, client.cancel_sweep, _state, as_json)


@app.command("release")
def release(sweep_ids: SweepIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Start sweeps that wait for others anyway."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, client.release_sweep, _state, as_json)


@app.command("extend")
def extend(
    sweep_id: SweepId,
    run_cap: Annotated[int | None, typer.Option(help="new total number of trials; can only increase")] = None,
    by: Annotated[int | None, typer.Option(min=1, help="number of additional trials")] = None,
    priority: Annotated[float | None, typer.Option(help="share of device time relative to other sweeps")] = None,
    wall_s: Annotated[float | None, typer.Option(help="new budget.wall_s")] = None,
    device_s: Annotated[float | None, typer.Option(help="new budget.device_s")] = None,
    plateau: Annotated[int | None, typer.Option(min=1, help="new budget.plateau.trials")] = None,
    target: Annotated[float | None, typer.Option(help="new target value of the metric")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Change the number of trials, the budget or the priority.

    A finished sweep resumes with all previous results.
    """
    budget: dict[str, Any] = {"wall_s": wall_s, "device_s": device_s}
    budget = {name: value for name, value in budget.items() if value is not None}
    others = bool(budget) or not (priority is plateau is target is None)
    if (run_cap is None) == (by is None) and (by is not None or not others):
        raise typer.BadParameter("give one of --run-cap and --by, --priority, or a budget option")
    with lazy_imports.Client.of(data_dir) as client:
        if plateau is not None:
            known = client.sweep(sweep_id)["budget"]
            current = None if known is None else known["plateau"]
            budget["plateau"] = {"trials": plateau, "min_delta": 0.0 if current is None else current["min_delta"]}
        total = run_cap if by is None else client.sweep(sweep_id)["run_cap"] + by
        terms = {**({"budget": budget} if budget else {}), **({} if target is None else {"target": target})}
        sweep = client.extend_sweep(sweep_id, total, priority=priority, **terms)
    if as_json:
        lazy_imports.terminal_output.print_json(sweep)
    else:
        used = lazy_imports.sweep_output.budget(sweep)
        print(f"{_state(sweep)}: up to {sweep['run_cap']} trials, priority {sweep['priority']:g}{used and '; ' + used}")


def _state(sweep: SweepInfo) -> str:
    return f"sweep {sweep['id']} is {sweep['state']}"


def _no_ensemble(sweep: SweepInfo) -> str:
    return f"no ensemble: {sweep['ensemble_error']}"


app.command("convert")(sweep_convert.convert)
app.command("export")(sweep_export.export_sweep)
app.command("curves")(sweep_curves.show_curves)
app.command("import")(sweep_import.import_sweep)
app.command("rename")(sweep_metadata.rename)
app.command("describe")(sweep_metadata.describe)
app.command("tag")(sweep_metadata.tag)
app.command("move")(sweep_metadata.move)
app.command("star")(sweep_metadata.star)
app.command("archive")(sweep_metadata.archive)
