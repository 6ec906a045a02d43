"""`podium trial ...`; cli."""

from __future__ import annotations

import itertools
import json
import math
import sys
from datetime import datetime
from typing import Annotated, Any

import typer

from podium.api.cli.commands import trial_download
from podium.api.cli.terminal.batch_commands import each
from podium.api.cli.terminal.lazy_groups import QuickGroup
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId, TrialId, TrialIds
from podium.sweep.values.trial import TrialState

app = typer.Typer(
    cls=QuickGroup, help="Look at trials, stop them, run them again, note and tag them.", no_args_is_help=True
)
INTERRUPTED = 130
Changed = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="what is to be otherwise")]


@app.command("list")
def list_trials(
    sweep_id: SweepId,
    state: Annotated[TrialState | None, typer.Option(help="only those in this state")] = None,
    sort: Annotated[str, typer.Option(help="best, number, params.NAME or another column; -value: falling")] = "number",
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="only those it finds: 'lr<0.01 -tag:bad top:50'")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="at most so many")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the trials of a sweep, with why they failed."""
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        names = terminal_output.objectives(client.sweep(sweep_id))
        trials = client.trials(sweep_id, sort, None if state is None else state.value, filter_text)
        found = list(itertools.islice(trials, limit))
    if as_json:
        terminal_output.print_json(found)
        return
    rows = [
        (
            t["number"],
            t["id"],
            terminal_output.state(t["state"]),
            *terminal_output.values(t, names),
            terminal_output.number(_duration_s(t)),
            t["device"] or "–",
            t["cause"] or terminal_output.violated(t),
            terminal_output.params(t["params"]),
        )
        for t in found
    ]
    valued = names if len(names) > 1 else ["value"]
    columns = ("trial", "id", "state", *valued, "seconds", "device", "cause", "parameters")
    terminal_output.console.print(terminal_output.full_table(columns, rows))


def _duration_s(trial: dict[str, Any]) -> float | None:
    """From the start of a trial to its end; None before that."""
    if trial["started_at"] is None or trial["ended_at"] is None:
        return None
    started, ended = (datetime.fromisoformat(trial[key]) for key in ("started_at", "ended_at"))
    return (ended - started).total_seconds()


@app.command("show")
def show_trial(
    trial_id: TrialId,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show one trial with its attempts."""
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        trial = client.trial(trial_id)
    if as_json:
        terminal_output.print_json(trial)
        return
    values = trial["values"]
    terminal_output.console.print(
        f"trial {trial['number']} of sweep {trial['sweep_id']} (id {trial['id']}): {trial['state']}, "
        f"{terminal_output.params(values) if values else 'value ' + terminal_output.number(trial['value'])}"
    )
    terminal_output.console.print(terminal_output.params(trial["params"]))
    if trial["tags"]:
        terminal_output.console.print(f"tags: {', '.join(trial['tags'])}")
    for line in trial["note"].splitlines():
        terminal_output.console.print(terminal_output.printable(line), soft_wrap=True, highlight=False)
    for name, amount in trial["constraints"].items():
        terminal_output.console.print(
            f"constraint {name}: {terminal_output.number(amount)}, {'violated' if amount > 0 else 'holds'}"
        )
    for name, value in trial["user_attrs"].items():
        terminal_output.console.print(
            f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        )
    rows = [
        (
            a["number"],
            a["device"],
            terminal_output.state(a["state"] or "running"),
            terminal_output.number(a["duration_s"]),
            a["cause"] or "",
            a["message"] or "",
        )
        for a in trial["attempts"]
    ]
    terminal_output.console.print(
        terminal_output.table(None, ("attempt", "device", "state", "seconds", "cause", "message"), rows)
    )
    traceback = trial["attempts"][-1]["traceback"] if trial["attempts"] else None
    for line in (traceback or "").splitlines():
        terminal_output.console.print(terminal_output.printable(line), soft_wrap=True, highlight=False)
    if trial["unfit"] is not None:
        terminal_output.console.print(trial["unfit"])
    for left in trial["artifacts"]:
        what = left["removed"] or f"{left['size_bytes']:,} bytes"
        terminal_output.console.print(
            terminal_output.printable(f"{left['name']}: {what}"), soft_wrap=True, highlight=False
        )


@app.command("logs")
def show_log(
    trial_id: TrialId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="go on with what it prints, until it ends")] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Print the end of what a trial printed."""
    from podium.api.client import shell_commands  # the HTTP client: not for --help
    from podium.api.client.client import Client
    from podium.api.client.log_following import follow_log

    with Client.of(data_dir) as client:
        if not follow:
            print(client.log(trial_id), end="")
            return
        try:
            for text in follow_log(client, trial_id):
                print(text, end="", flush=True)
        except KeyboardInterrupt:
            stop = shell_commands.command(data_dir, "trial", "stop", trial_id)
            print(f"\ntrial {trial_id} goes on; `{stop}` ends it", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


app.command("download")(trial_download.download)


@app.command("stop")
def stop(trial_ids: TrialIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End trials that wait or run; their sweeps go on."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(trial_ids, client.stop_trial, _now, as_json)


@app.command("retry")
def retry(trial_ids: TrialIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Run trials again that failed or were cancelled. Sweeps that have ended go on for them."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(trial_ids, client.retry_trial, _now, as_json)


@app.command("clone")
def clone(
    trial_id: TrialId, changed: Changed = None, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False
) -> None:
    """Add a trial with the same parameters, but for those given.

    As in --set lr=0.01 --set optimizer=sgd.
    """
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    params = dict(_setting(text) for text in changed or [])
    with Client.of(data_dir) as client:
        added = client.clone_trial(trial_id, params)
    if as_json:
        terminal_output.print_json(added)
    else:
        print(f"trial {trial_id} is cloned into sweep {added['sweep_id']}: {terminal_output.params(added['params'])}")


@app.command("note")
def note(
    trial_id: TrialId,
    text: Annotated[str, typer.Argument(help='what is worth remembering; "" takes the note away')],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Write a note about a trial, in place of the one before."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each([trial_id], lambda one: client.note_trial(one, text), _noted, as_json)


@app.command("tag")
def tag(
    trial_ids: TrialIds,
    add: Annotated[list[str] | None, typer.Option("--add", metavar="TAG", help="a tag to give")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="a tag to take away")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Tag trials, to find them by.

    As in podium trial tag 17 18 --add keep --add small.
    """
    if not (add or remove):
        raise typer.BadParameter("name a tag by --add or --remove", param_hint="--add")
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(trial_ids, lambda one: client.tag_trial(one, add or (), remove or ()), _tagged, as_json)


def _noted(trial: dict[str, Any]) -> str:
    return f"trial {trial['id']} has {'this note' if trial['note'] else 'no note'}"


def _tagged(trial: dict[str, Any]) -> str:
    return (
        f"trial {trial['id']} is tagged {', '.join(trial['tags'])}"
        if trial["tags"]
        else f"trial {trial['id']} has no tag"
    )


def _now(trial: dict[str, Any]) -> str:
    asked = {"stop": ", being stopped", "retry": ", being retried"}.get(trial["requested"], "")
    return f"trial {trial['id']} is {trial['state']}{asked}"


def _setting(text: str) -> tuple[str, Any]:
    """`lr=0.01` as name and value: a number, true, false or null, and what is none of these as it is written."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint="--set")
    try:
        parsed = json.loads(value, parse_constant=str)
    except ValueError:
        parsed = value
    usable = isinstance(parsed, str | int | None) or (isinstance(parsed, float) and math.isfinite(parsed))
    return name, parsed if usable else value
