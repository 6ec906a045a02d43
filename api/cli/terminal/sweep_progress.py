"""Progress of sweeps: a live display in a terminal, otherwise one line per change; CLI."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from podium.api.cli.terminal import sweep_output, terminal_output
from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo

NAME_COLUMNS = 24


def follow(client: Client, sweep_ids: Sequence[int]) -> list[SweepInfo]:
    """Show sweeps until all have ended: live in a terminal, otherwise one line per change."""
    return _follow_live(client, sweep_ids) if terminal_output.console.is_terminal else _follow_plain(client, sweep_ids)


def _follow_plain(client: Client, sweep_ids: Sequence[int]) -> list[SweepInfo]:
    seen: dict[int, SweepInfo] = {}
    printed: dict[int, str] = {}
    failed: set[int] = set()
    warned: set[tuple[int, str]] = set()
    while True:
        for sweep in _poll(client, sweep_ids, seen):
            print_first_failure(client, sweep, failed)
            name = f"sweep {sweep['id']}: " if len(sweep_ids) > 1 else ""
            counts = sweep_output.counts(sweep) or "none yet"
            line = f"{name}{_done(sweep)}: {counts}; {sweep_output.best(sweep)}{sweep_output.drained_devices(sweep)}"
            if printed.get(sweep["id"]) != line:
                terminal_output.console.print(line)
                printed[sweep["id"]] = line
            print_warnings(sweep, name, warned)
        if all(sweep["state"] in sweep_output.TERMINAL for sweep in seen.values()):
            return [seen[sweep_id] for sweep_id in sweep_ids]
        time.sleep(client.refresh_s)


def _follow_live(client: Client, sweep_ids: Sequence[int]) -> list[SweepInfo]:
    seen: dict[int, SweepInfo] = {}
    failed: set[int] = set()
    warned: set[tuple[int, str]] = set()
    with Live(console=terminal_output.console, transient=True, auto_refresh=False) as live:
        while True:
            for sweep in _poll(client, sweep_ids, seen):
                print_first_failure(client, sweep, failed)
                print_warnings(sweep, f"sweep {sweep['id']}: " if len(sweep_ids) > 1 else "", warned)
            live.update(display(client, [seen[sweep_id] for sweep_id in sweep_ids]), refresh=True)
            if all(sweep["state"] in sweep_output.TERMINAL for sweep in seen.values()):
                return [seen[sweep_id] for sweep_id in sweep_ids]
            time.sleep(client.refresh_s)


def _poll(client: Client, sweep_ids: Sequence[int], seen: dict[int, SweepInfo]) -> list[SweepInfo]:
    """Request the sweeps that have not ended."""
    open_ids = [
        one for one in dict.fromkeys(sweep_ids) if one not in seen or seen[one]["state"] not in sweep_output.TERMINAL
    ]
    seen |= {sweep_id: client.sweep(sweep_id) for sweep_id in open_ids}
    return [seen[sweep_id] for sweep_id in open_ids]


def print_first_failure(client: Client, sweep: SweepInfo, printed: set[int]) -> None:
    """Print why the first trial failed: an error in the code affects all trials."""
    if sweep["id"] in printed or not sweep["counts"].get("failed"):
        return
    found = next(client.trials(sweep["id"], state="failed"), None)
    if found is None:
        return  # it is being retried
    printed.add(sweep["id"])
    last = client.trial(found["id"])["attempts"][-1:]
    why = ": ".join(attempt["message"] for attempt in last if attempt["message"]) or found["cause"]
    terminal_output.console.print(
        terminal_output.printable(
            f"trial {found['number']} (id {found['id']}) failed: {why}; podium trial logs {found['id']}"
        )
    )


def print_warnings(sweep: SweepInfo, name: str, printed: set[tuple[int, str]]) -> None:
    """Print each warning once."""
    for warning in sweep_output.warnings(sweep):
        if (sweep["id"], warning.plain) not in printed:
            printed.add((sweep["id"], warning.plain))
            terminal_output.console.print(Text(name).append_text(warning))


def _done(sweep: SweepInfo) -> str:
    return f"{_counted(sweep)}/{sweep['run_cap']} trials"


def _counted(sweep: SweepInfo) -> int:
    return sum(sweep["counts"].get(name, 0) for name in ("finished", "pruned"))


def display(client: Client, sweeps: list[SweepInfo]) -> Group:
    """The live display: a progress bar and a line of counts for each sweep, and the devices."""
    bars = Table.grid(padding=(0, 1))
    lines = []
    for sweep in sweeps:
        name = terminal_output.printable(f"{sweep['id']} {sweep['name']}")[:NAME_COLUMNS] if len(sweeps) > 1 else ""
        bar = ProgressBar(total=sweep["run_cap"], completed=_counted(sweep), width=15 if name else 30)
        bars.add_row(*([name] if name else []), bar, f"{_done(sweep)}{_remaining(sweep)}")
        counts = sweep_output.counts(sweep) or sweep_output.reason(sweep)
        words = f"{counts}; {sweep_output.best(sweep)}{sweep_output.drained_devices(sweep)}"
        lines.append(Text(terminal_output.printable(f"{sweep['id']}: {words}" if name else words)))
        if used := sweep_output.budget(sweep):
            lines.append(Text(f"budget: {used}"))
    return Group(bars, *lines, _devices(client))


def _remaining(sweep: SweepInfo) -> str:
    """The elapsed time, and the remaining time at the current rate."""
    done, cap = _counted(sweep), sweep["run_cap"]
    if sweep["started_at"] is None or sweep["state"] not in ("running", "stopping"):
        return ""
    elapsed_s = (datetime.now(UTC) - datetime.fromisoformat(sweep["started_at"])).total_seconds()
    left = f", about {clock_time(elapsed_s / done * (cap - done))} left" if 0 < done < cap else ""
    return f" in {clock_time(elapsed_s)}{left}"


def clock_time(seconds: float) -> str:
    """A duration as on a clock: 1:05, or 2:01:00."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _devices(client: Client) -> Table:
    rows = []
    for device in client.devices():
        trial = client.trial(device["trial_id"]) if device["trial_id"] is not None else None
        running = "" if trial is None else f"trial {trial['number']}: {terminal_output.params(trial['params'])}"
        rows.append((device["id"], terminal_output.state(device["state"]), running or device["reason"]))
    return terminal_output.table(None, ("device", "state", "trial"), rows)
