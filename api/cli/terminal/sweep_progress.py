"""Sweeps as they go: live in a terminal, a line for each change elsewhere; cli."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from podium.api.cli.terminal import terminal_output
from podium.api.client.client import Client

REFRESH_S = 0.25
NAME_COLUMNS = 24


def follow(client: Client, sweep_ids: Sequence[int]) -> list[dict[str, Any]]:
    """Show sweeps until all are over: live in a terminal, a line for each change elsewhere."""
    return _follow_live(client, sweep_ids) if terminal_output.console.is_terminal else _follow_plain(client, sweep_ids)


def _follow_plain(client: Client, sweep_ids: Sequence[int]) -> list[dict[str, Any]]:
    seen: dict[int, dict[str, Any]] = {}
    said: dict[int, str] = {}
    failed: set[int] = set()
    warned: set[tuple[int, str]] = set()
    while True:
        for sweep in _look(client, sweep_ids, seen):
            _say_first_failure(client, sweep, failed)
            name = f"sweep {sweep['id']}: " if len(sweep_ids) > 1 else ""
            counts = terminal_output.counts(sweep) or "none yet"
            line = f"{name}{_done(sweep)}: {counts}; {terminal_output.best(sweep)}{terminal_output.held(sweep)}"
            if said.get(sweep["id"]) != line:
                terminal_output.console.print(line)
                said[sweep["id"]] = line
            _say_warnings(sweep, name, warned)
        if all(sweep["state"] in terminal_output.OVER for sweep in seen.values()):
            return [seen[sweep_id] for sweep_id in sweep_ids]
        time.sleep(REFRESH_S)


def _follow_live(client: Client, sweep_ids: Sequence[int]) -> list[dict[str, Any]]:
    seen: dict[int, dict[str, Any]] = {}
    failed: set[int] = set()
    warned: set[tuple[int, str]] = set()
    with Live(console=terminal_output.console, transient=True, auto_refresh=False) as live:
        while True:
            for sweep in _look(client, sweep_ids, seen):
                _say_first_failure(client, sweep, failed)
                _say_warnings(sweep, f"sweep {sweep['id']}: " if len(sweep_ids) > 1 else "", warned)
            live.update(_progress(client, [seen[sweep_id] for sweep_id in sweep_ids]), refresh=True)
            if all(sweep["state"] in terminal_output.OVER for sweep in seen.values()):
                return [seen[sweep_id] for sweep_id in sweep_ids]
            time.sleep(REFRESH_S)


def _look(client: Client, sweep_ids: Sequence[int], seen: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The sweeps that are not known to be over, as they are now."""
    open_ids = [
        one for one in dict.fromkeys(sweep_ids) if one not in seen or seen[one]["state"] not in terminal_output.OVER
    ]
    seen |= {sweep_id: client.sweep(sweep_id) for sweep_id in open_ids}
    return [seen[sweep_id] for sweep_id in open_ids]


def _say_first_failure(client: Client, sweep: dict[str, Any], said: set[int]) -> None:
    """Why the first trial failed, when it does: what is wrong with the code is wrong in all of them."""
    if sweep["id"] in said or not sweep["counts"].get("failed"):
        return
    found = next(client.trials(sweep["id"], state="failed"), None)
    if found is None:
        return  # it is tried again
    said.add(sweep["id"])
    last = client.trial(found["id"])["attempts"][-1:]
    why = ": ".join(attempt["message"] for attempt in last if attempt["message"]) or found["cause"]
    terminal_output.console.print(
        terminal_output.printable(
            f"trial {found['number']} (id {found['id']}) failed: {why}; podium trial logs {found['id']}"
        )
    )


def _say_warnings(sweep: dict[str, Any], name: str, said: set[tuple[int, str]]) -> None:
    """Each warning once, also one that is withdrawn later."""
    for warning in terminal_output.warnings(sweep):
        if (sweep["id"], warning.plain) not in said:
            said.add((sweep["id"], warning.plain))
            terminal_output.console.print(Text(name).append_text(warning))


def _done(sweep: dict[str, Any]) -> str:
    return f"{_counted(sweep)}/{sweep['run_cap']} trials"


def _counted(sweep: dict[str, Any]) -> int:
    return sum(sweep["counts"].get(name, 0) for name in ("finished", "pruned"))


def _progress(client: Client, sweeps: list[dict[str, Any]]) -> Group:
    bars = Table.grid(padding=(0, 1))
    lines = []
    for sweep in sweeps:
        name = terminal_output.printable(f"{sweep['id']} {sweep['name']}")[:NAME_COLUMNS] if len(sweeps) > 1 else ""
        bar = ProgressBar(total=sweep["run_cap"], completed=_counted(sweep), width=15 if name else 30)
        bars.add_row(*([name] if name else []), bar, f"{_done(sweep)}{_remaining(sweep)}")
        counts = terminal_output.counts(sweep) or sweep["reason"]
        words = f"{counts}; {terminal_output.best(sweep)}{terminal_output.held(sweep)}"
        lines.append(Text(terminal_output.printable(f"{sweep['id']}: {words}" if name else words)))
        if used := terminal_output.budget(sweep):
            lines.append(Text(f"budget: {used}"))
    return Group(bars, *lines, _devices(client))


def _remaining(sweep: dict[str, Any]) -> str:
    """How long a sweep has run, and how long it will at this rate."""
    done, cap = _counted(sweep), sweep["run_cap"]
    if sweep["started_at"] is None or sweep["state"] not in ("running", "stopping"):
        return ""
    elapsed_s = (datetime.now(UTC) - datetime.fromisoformat(sweep["started_at"])).total_seconds()
    left = f", about {_clock(elapsed_s / done * (cap - done))} left" if 0 < done < cap else ""
    return f" in {_clock(elapsed_s)}{left}"


def _clock(seconds: float) -> str:
    """1:05, or 2:01:00."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _devices(client: Client) -> Table:
    rows = []
    for device in client.devices():
        trial = client.trial(device["trial_id"]) if device["trial_id"] is not None else None
        doing = "" if trial is None else f"trial {trial['number']}: {terminal_output.params(trial['params'])}"
        rows.append((device["id"], terminal_output.state(device["state"]), doing or device["reason"]))
    return terminal_output.table(None, ("device", "state", "on it"), rows)
