"""`podium trial ...`; cli."""

from __future__ import annotations

import typer

from api.commands.options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId, TrialId

app = typer.Typer(help="Look at trials.", no_args_is_help=True)


@app.command("list")
def list_trials(
    sweep_id: SweepId,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the trials of a sweep, by number."""
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        client.sweep(sweep_id)
        found = list(client.trials(sweep_id))
    if as_json:
        show.print_json(found)
        return
    rows = [
        (
            t["number"],
            t["id"],
            show.state(t["state"]),
            show.number(t["value"]),
            t["device"] or "–",
            show.params(t["params"]),
        )
        for t in found
    ]
    show.console.print(show.table(None, ("trial", "id", "state", "value", "device", "parameters"), rows))


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
        f"trial {trial['number']} of sweep {trial['sweep_id']}: {trial['state']}, value {show.number(trial['value'])}"
    )
    show.console.print(show.params(trial["params"]))
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
