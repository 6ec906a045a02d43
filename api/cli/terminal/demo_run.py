"""The work of `podium demo`: a sweep, its best three models, both ensemble modes, one table; CLI."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from podium.api.cli.terminal import sweep_output, sweep_progress, terminal_output
from podium.api.client import service_for_command, shell_quoted_commands
from podium.api.client.client import Client
from podium.api.client.ensemble_responses import EvaluationResult
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.spec.builtin_catalog import NEEDS_ROOT
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.errors import InvalidSpecError, Problem, ServiceError

MEMBERS = 3
PRUNED_FROM = 12


def run(
    *,
    data_dir: Path,
    data: str,
    data_root: Path | None,
    trials: int,
    devices: str,
    json_file: Path | None,
    keep: bool,
) -> None:
    """Run the demo over REST, print the table, and write the results to the data directory and to `json_file`."""
    document = sweep_document(data, data_root, trials)
    parse_spec(document, "")
    memory_mapped_datasets.check(document["program"]["data"])  # fails before the service is started
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise InvalidSpecError([Problem(("--json",), f"there is no folder {json_file.absolute().parent}")], "")
    began = time.monotonic()
    terminal_output.console.print("Starting the service …")
    with service_for_command.service(data_dir, devices) as client:
        terminal_output.console.print(f"Service: {client.url}, data directory: {data_dir}")
        figures = measure(client, document)
        figures |= {"wall_s": time.monotonic() - began, "data_dir": str(data_dir), "url": client.url}
        for file in (DataDirectory(data_dir).demo_figures, json_file):
            if file is not None:
                write_atomic(file, json.dumps(figures, indent=2).encode() + b"\n")
        terminal_output.console.print(summary(figures))
        if keep:
            _wait_for_interrupt(client)
    terminal_output.console.print(f"Run the service again with: {shell_quoted_commands.command(data_dir, 'serve')}")


def sweep_document(data: str, data_root: Path | None, trials: int) -> dict[str, Any]:
    """The sweep of the demo.

    One ASHA rung at half of the epochs prunes about half of the trials; with few trials, ASHA is off so that three
    finish.
    """
    if data in NEEDS_ROOT and data_root is None:
        raise InvalidSpecError([Problem(("--data-root",), f"{data} requires the folder of its IDX files")], "")
    source: dict[str, Any] = {"name": data}
    if data_root is not None:
        source["root"] = str(data_root.absolute())
    large = data in NEEDS_ROOT
    epochs = 4 if large else 12
    return {
        "name": f"demo-{data}",
        "method": "tpe",
        "seed": 7,
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {
            "lr": {"min": 3e-4, "max": 3e-2, "log": True},
            "hidden": {"values": [64, 128, 256]},
            "layers": {"min": 1, "max": 3},
            "dropout": {"min": 0.0, "max": 0.4},
            "batch_size": {"value": 256 if large else 64},
            "epochs": {"value": epochs},
        },
        "early_terminate": {"type": "asha" if trials >= PRUNED_FROM else "none", "min_iter": epochs // 2, "eta": 2},
        "run_cap": trials,
        "program": {"model": "mlp", "data": source},
        # With so few rows, a large test split keeps the confidence interval small.
        "validation": {"split": [0.7, 0.1, 0.1, 0.1] if large else [0.4, 0.15, 0.05, 0.4]},
    }


def measure(client: Client, document: dict[str, Any]) -> dict[str, Any]:
    """Run the sweep and build both ensembles; returns the results."""
    sweep = client.submit(document)
    terminal_output.console.print(
        f"Sweep {sweep['id']}: {document['run_cap']} trials of an MLP on {document['program']['data']['name']}"
    )
    with service_for_command.cancelled_on_interrupt(client, sweep["id"]):
        (sweep,) = sweep_progress.follow(client, [sweep["id"]])
    if sweep["state"] != "finished":
        raise ServiceError(f"sweep {sweep['id']} is {sweep['state']}: {sweep_output.reason(sweep)}")
    terminal_output.console.print(f"{sweep_output.counts(sweep)}; {sweep_output.best(sweep)}")
    terminal_output.console.print(f"Building both ensembles of the best {MEMBERS} …")
    built = {mode: client.build_ensemble(sweep["id"], k=MEMBERS, mode=mode) for mode in ("in_graph", "between_graph")}
    results: dict[str, EvaluationResult] = {}
    probabilities = []
    for mode, ensemble in built.items():
        client.wait_ensemble(ensemble["id"])
        evaluation = client.evaluate(ensemble["id"])
        assert evaluation["result"] is not None
        results[mode] = evaluation["result"]
        probabilities.append(client.probabilities(ensemble["id"], evaluation["id"]))
    between, in_graph = results["between_graph"], results["in_graph"]
    counts = sweep["counts"]
    wall_s = _seconds(sweep)
    return {
        "sweep_id": sweep["id"],
        "ensemble_ids": {mode: ensemble["id"] for mode, ensemble in built.items()},
        "trials_total": sum(counts.values()) - counts.get("cancelled", 0),
        "trials_finished": counts.get("finished", 0),
        "trials_pruned": counts.get("pruned", 0),
        "trials_failed": counts.get("failed", 0),
        "trials_per_s": sum(counts.values()) / wall_s,
        "sweep_s": wall_s,
        "device_busy_share": sweep["device_busy_share"],
        "devices": len(client.devices()),
        "test_rows": between["rows"],
        "member_trials": [member["trial_number"] for member in built["between_graph"]["members"]],
        "member_test_accuracies": [member["accuracy"] for member in between["members"]],
        "best_single_test_accuracy": between["members"][between["best_member"]]["accuracy"],
        "in_graph_test_accuracy": in_graph["ensemble"]["accuracy"],
        "between_graph_test_accuracy": between["ensemble"]["accuracy"],
        "ensemble_minus_best": between["difference"],
        "ensemble_minus_best_ci95": between["difference_ci95"],
        "max_abs_difference_between_modes": float(np.abs(probabilities[0] - probabilities[1]).max()),
        "log_loss": {
            "members": [member["log_loss"] for member in between["members"]],
            "in_graph": in_graph["ensemble"]["log_loss"],
            "between_graph": between["ensemble"]["log_loss"],
        },
    }


def _seconds(sweep: SweepInfo) -> float:
    """Seconds from the start to the end of a finished sweep."""
    assert sweep["started_at"] is not None and sweep["ended_at"] is not None
    started, ended = datetime.fromisoformat(sweep["started_at"]), datetime.fromisoformat(sweep["ended_at"])
    return (ended - started).total_seconds()


def summary(figures: dict[str, Any]) -> Group:
    """The table of results: each network and both ensembles, with times."""
    best = figures["best_single_test_accuracy"]
    rows: list[tuple[str, str, str]] = []
    members = zip(
        figures["member_trials"], figures["member_test_accuracies"], figures["log_loss"]["members"], strict=True
    )
    for position, (trial, accuracy, log_loss) in enumerate(members):
        name = f"trial {trial}" + (" (best single network)" if position == 0 else "")
        rows.append((name, f"{accuracy:.4f}", f"{log_loss:.4f}"))
    for mode, name in (("in_graph", "ensemble, in-graph"), ("between_graph", "ensemble, between-graph")):
        rows.append((name, f"{figures[f'{mode}_test_accuracy']:.4f}", f"{figures['log_loss'][mode]:.4f}"))
    low, high = figures["ensemble_minus_best_ci95"]
    gain = figures["between_graph_test_accuracy"] - best
    busy = figures["device_busy_share"]  # None: not known
    lines = (
        f"Ensemble minus best single network: {gain:+.4f} accuracy, 95 % interval {low:+.4f} to {high:+.4f}",
        f"The two modes differ by at most {figures['max_abs_difference_between_modes']:.1e} in probability",
        f"{figures['trials_total']} trials in {figures['sweep_s']:.1f} s: {figures['trials_per_s']:.2f} a second, "
        f"{figures['devices']} devices{'' if busy is None else f' {100 * busy:.1f} % busy'}",
        f"Total time: {figures['wall_s']:.1f} s",
    )
    heading = f"\nOn {figures['test_rows']:,} held-out test rows:\n"
    return Group(heading, terminal_output.table(None, ("network", "accuracy", "log loss"), rows), "", *lines)


def _wait_for_interrupt(client: Client) -> None:
    """Keep the service running until Ctrl-C."""
    terminal_output.console.print(f"The service keeps running at {client.url} until Ctrl-C")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
