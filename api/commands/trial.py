"""`podium trial ...`; cli."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

from api.commands.each import each
from api.commands.options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId, TrialId, TrialIds

app = typer.Typer(help="Look at trials, stop them, run them again.", no_args_is_help=True)
Changed = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="what is to be otherwise")]


@app.command("list")
def list_trials(
    sweep_id: SweepId,
    sort: Annotated[str, typer.Option(help="number, value, values.NAME or params.NAME; -value: falling")] = "number",
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the trials of a sweep, by number or as --sort says."""
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        names = show.objectives(client.sweep(sweep_id))
        found = list(client.trials(sweep_id, sort))
    if as_json:
        show.print_json(found)
        return
    rows = [
        (
            t["number"],
            t["id"],
            show.state(t["state"]),
            *show.values(t, names),
            t["device"] or "–",
            show.params(t["params"]),
        )
        for t in found
    ]
    valued = names if len(names) > 1 else ["value"]
    show.console.print(show.table(None, ("trial", "id", "state", *valued, "device", "parameters"), rows))


@app.command("show")
def show_trial(
    trial_id: TrialId,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show one trial with its attempts."""
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        trial = client.trial(trial_id)
    if as_json:
        show.print_json(trial)
        return
    show.console.print(
        f"trial {trial['number']} of sweep {trial['sweep_id']} (id {trial['id']}): {trial['state']}, "
        f"{show.params(trial['values']) if trial['values'] else 'value ' + show.number(trial['value'])}"
    )
    show.console.print(show.params(trial["params"]))
    for name, amount in trial["constraints"].items():
        show.console.print(f"constraint {name}: {show.number(amount)}, {'violated' if amount > 0 else 'holds'}")
    for name, value in trial["user_attrs"].items():
        show.console.print(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    rows = [
        (
            a["number"],
            a["device"],
            show.state(a["state"] or "running"),
            show.number(a["duration_s"]),
            a["cause"] or "",
            a["message"] or "",
        )
        for a in trial["attempts"]
    ]
    show.console.print(show.table(None, ("attempt", "device", "state", "seconds", "cause", "message"), rows))


@app.command("logs")
def show_log(trial_id: TrialId, data_dir: DataDir = DEFAULT_DATA_DIR) -> None:
    """Print the end of what a trial printed."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        print(client.log(trial_id), end="")


@app.command("stop")
def stop(trial_ids: TrialIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """End trials that wait or run; their sweeps go on."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(trial_ids, client.stop_trial, _now, as_json)


@app.command("retry")
def retry(trial_ids: TrialIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Run trials again that failed or were cancelled; sweeps that have ended go on for them."""
    from api.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(trial_ids, client.retry_trial, _now, as_json)


@app.command("clone")
def clone(
    trial_id: TrialId, changed: Changed = None, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False
) -> None:
    """Add a trial with the same parameters to its sweep, but for those given: --set lr=0.01 --set optimizer=sgd."""
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    params = dict(_setting(text) for text in changed or [])
    with Client.of(data_dir) as client:
        added = client.clone_trial(trial_id, params)
    if as_json:
        show.print_json(added)
    else:
        print(f"trial {trial_id} is cloned into sweep {added['sweep_id']}: {show.params(added['params'])}")


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
