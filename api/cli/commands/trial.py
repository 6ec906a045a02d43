"""`podium trial ...`; CLI."""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.api.cli.commands import trial_download
from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId, TrialName, TrialNames
from podium.api.client import shell_quoted_commands
from podium.sweep.values.states import TrialState

if TYPE_CHECKING:
    from podium.api.client.trial_responses import AttemptInfo, TrialDetails, TrialInfo

app = group()
INTERRUPTED = 130
_SEPARATOR = re.compile(r",\s*(?=(?:last|min|max|last_step|min_step|max_step|non_finite)\(|metrics\.)")
Changed = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="a parameter to change")]


@app.command("list")
def list_trials(
    sweep_id: SweepId,
    state: Annotated[TrialState | None, typer.Option(help="only trials in this state")] = None,
    sort: Annotated[str, typer.Option(help="best, number, params.NAME or another column; -: descending")] = "number",
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="only matching trials: 'lr<0.01 -tag:bad top:50'")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="also these figures of metrics: 'min(val_loss),last(val/acc)'"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="maximum number of trials")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the trials of a sweep, with the cause of failures."""
    output = lazy_imports.terminal_output
    figures = [] if columns is None else [name for name in _SEPARATOR.split(columns.strip()) if name]
    with lazy_imports.Client.of(data_dir) as client:
        names = lazy_imports.sweep_output.objectives(client.sweep(sweep_id))
        trials = client.trials(
            sweep_id, sort, state=None if state is None else state.value, filter=filter_text, metrics=figures
        )
        found = list(itertools.islice(trials, limit))
    if as_json:
        output.print_json(found)
        return
    rows = [
        (
            trial["number"],
            trial["id"],
            output.state(trial["state"]),
            *lazy_imports.sweep_output.values(trial, names),
            *(_figure(trial, name) for name in figures),
            output.number(trial["running_s"]),
            trial["device"] or "–",
            trial["cause"] or lazy_imports.sweep_output.violated(trial),
            output.params(trial["params"]),
        )
        for trial in found
    ]
    value_columns = names if len(names) > 1 else ["value"]
    names_of_columns = ("trial", "id", "state", *value_columns, *figures, "seconds", "device", "cause", "parameters")
    output.console.print(output.full_table(names_of_columns, rows))


def _figure(trial: TrialInfo, key: str) -> str:
    """A figure of a metric, with a mark if some of its values were NaN or infinite."""
    metric = key.partition("(")[2].removesuffix(")") or key.removeprefix("metrics.")
    others = trial["metrics"].get(f"non_finite({metric})") or 0
    found = trial["metrics"].get(key, trial["metrics"].get(f"last({metric})"))
    return lazy_imports.terminal_output.number(found) + (f" ({others}x non-finite)" if others else "")


@app.command("schedule")
def schedule(
    trial: TrialName,
    replay: Annotated[
        bool, typer.Option("--replay", help="print a sweep file with one trial that repeats the schedule")
    ] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show how the configuration of a trial of a population changed."""
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        found = client.schedule(client.trial_id(trial))
    if as_json:
        output.print_json(found["replay"] if replay else found)
    elif replay:
        print(lazy_imports.to_yaml(found["replay"]), end="")
    else:
        rows = [
            (
                each["interval"],
                each["trial"],
                each["step"] or "–",
                output.number(each["value"]),
                output.params(each["params"]),
            )
            for each in found["intervals"]
        ]
        output.console.print(output.table(None, ("interval", "trial", "until step", "value", "parameters"), rows))


@app.command("show")
def show_trial(trial: TrialName, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Show a trial with its attempts and files."""
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        found = client.trial(client.trial_id(trial))
    if as_json:
        output.print_json(found)
    else:
        _print_trial(found)


def _print_trial(trial: TrialDetails) -> None:
    output = lazy_imports.terminal_output
    values = trial["values"]
    output.console.print(
        f"trial {trial['number']} of sweep {trial['sweep_id']} (id {trial['id']}): {trial['state']}, "
        f"{output.params(values) if values else 'value ' + output.number(trial['value'])}"
    )
    output.console.print(output.params(trial["params"]))
    output.console.print(
        output.printable(f"sampler: {lazy_imports.sweep_output.sampler(trial)}"), soft_wrap=True, highlight=False
    )
    if trial["tags"]:
        output.console.print(f"tags: {', '.join(trial['tags'])}")
    for line in trial["note"].splitlines():
        output.console.print(output.printable(line), soft_wrap=True, highlight=False)
    for name, amount in trial["constraints"].items():
        output.console.print(f"constraint {name}: {output.number(amount)}, {'violated' if amount > 0 else 'holds'}")
    for name, value in trial["user_attrs"].items():
        output.console.print(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    rows = [
        (
            a["number"],
            ", ".join(rank["device"] for rank in a["ranks"]) or a["device"],
            output.state(a["state"] or "running"),
            output.number(a["duration_s"]),
            lazy_imports.sweep_output.peak_memory(a),
            a["cause"] or "",
            a["message"] or "",
        )
        for a in trial["attempts"]
    ]
    output.console.print(
        output.table(None, ("attempt", "device", "state", "seconds", "peak memory", "cause", "message"), rows)
    )
    _show_ranks(trial["attempts"])
    traceback = trial["attempts"][-1]["traceback"] if trial["attempts"] else None
    for line in (traceback or "").splitlines():
        output.console.print(output.printable(line), soft_wrap=True, highlight=False)
    if trial["unfit"] is not None:
        output.console.print(trial["unfit"])
    for file in trial["artifacts"]:
        status = file["removed"] or f"{file['size_bytes']:,} bytes"
        output.console.print(output.printable(f"{file['name']}: {status}"), soft_wrap=True, highlight=False)


def _show_ranks(attempts: list[AttemptInfo]) -> None:
    """The ranks of the last attempt, if it has several devices."""
    output = lazy_imports.terminal_output
    ranks = attempts[-1]["ranks"] if attempts else []
    if not ranks:
        return
    rows = [
        (
            rank["rank"], rank["device"], output.state(rank["state"]) if rank["state"] else "–", rank["exit"] or "",
            lazy_imports.sweep_output.peak_memory(rank),
            rank["cause"] or "", rank["message"] or "",
        )
        for rank in ranks
    ]  # fmt: skip
    columns = ("rank", "device", "state", "exit", "peak memory", "cause", "message")
    output.console.print(output.table(f"ranks of attempt {attempts[-1]['number']}", columns, rows))


@app.command("logs")
def show_log(
    trial: TrialName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="print new output until the trial ends")] = False,
    attempt: Annotated[int | None, typer.Option(min=1, help="of this attempt; by default of the last one")] = None,
    rank: Annotated[int, typer.Option(min=0, help="of a trial with several devices: the process on one of them")] = 0,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Print the end of a trial's output."""
    if follow and attempt is not None:
        raise typer.BadParameter("--follow prints the last attempt; omit --attempt")
    with lazy_imports.Client.of(data_dir) as client:
        trial_id = client.trial_id(trial)
        if not follow:
            print(client.log(trial_id, rank, attempt), end="")
            return
        try:
            for text in lazy_imports.log_following.follow_log(client, trial_id, rank=rank):
                print(text, end="", flush=True)
        except KeyboardInterrupt:
            stop = shell_quoted_commands.command(data_dir, "trial", "stop", trial)
            print(f"\ntrial {trial} continues; `{stop}` to stop it", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


app.command("download")(trial_download.download)


@app.command("stop")
def stop(trials: TrialNames, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Stop waiting or running trials; their sweeps continue."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(trials, lambda one: client.stop_trial(client.trial_id(one)), _state, as_json)


@app.command("retry")
def retry(trials: TrialNames, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Retry failed or cancelled trials. Sweeps that have ended resume for them."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(trials, lambda one: client.retry_trial(client.trial_id(one)), _state, as_json)


@app.command("clone")
def clone(
    trial: TrialName, changed: Changed = None, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False
) -> None:
    """Add a trial with the same parameters except those set.

    Example: --set lr=0.01 --set optimizer=sgd.
    """
    changes = dict(_setting(text) for text in changed or [])
    with lazy_imports.Client.of(data_dir) as client:
        added = client.clone_trial(client.trial_id(trial), changes)
    if as_json:
        lazy_imports.terminal_output.print_json(added)
    else:
        params = lazy_imports.terminal_output.params(added["params"])
        print(f"cloned trial {trial} into sweep {added['sweep_id']}: {params}")


@app.command("note")
def note(
    trial: TrialName,
    text: Annotated[str, typer.Argument(help='the note; "" removes it')],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Write a note about a trial; replaces an existing one."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each([trial], lambda one: client.note_trial(client.trial_id(one), text), _noted, as_json)


@app.command("tag")
def tag(
    trials: TrialNames,
    add: Annotated[list[str] | None, typer.Option("--add", metavar="TAG", help="a tag to add")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="a tag to remove")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Add tags to trials, or remove tags.

    Example: podium trial tag 17 18 --add keep --add small.
    """
    if not (add or remove):
        raise typer.BadParameter("give a tag with --add or --remove", param_hint="--add")
    with lazy_imports.Client.of(data_dir) as client:
        run_each(trials, lambda one: client.tag_trial(client.trial_id(one), add or (), remove or ()), _tagged, as_json)


def _noted(trial: TrialDetails) -> str:
    return f"trial {trial['id']} has {'this note' if trial['note'] else 'no note'}"


def _tagged(trial: TrialInfo) -> str:
    return (
        f"trial {trial['id']} is tagged {', '.join(trial['tags'])}"
        if trial["tags"]
        else f"trial {trial['id']} has no tag"
    )


def _state(trial: TrialInfo) -> str:
    requested = {"stop": ", being stopped", "retry": ", being retried"}.get(trial["requested"] or "", "")
    return f"trial {trial['id']} is {trial['state']}{requested}"


def _setting(text: str) -> tuple[str, Any]:
    """`lr=0.01` as name and value: a number, true, false, null, or otherwise the string as written."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint="--set")
    try:
        parsed = json.loads(value, parse_constant=str)
    except ValueError:
        parsed = value
    usable = isinstance(parsed, str | int | None) or (isinstance(parsed, float) and math.isfinite(parsed))
    return name, parsed if usable else value
