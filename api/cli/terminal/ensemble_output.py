"""Ensembles as people see them in a terminal: their state, members, evaluations and predictions; cli."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from podium.api.cli.terminal.sweep_progress import REFRESH_S
from podium.api.cli.terminal.terminal_output import console, number, state, table
from podium.api.client.client import Client, EnsembleName, settled
from podium.sweep.values.errors import ServiceError

ROWS_SHOWN = 50
STEPS_SHOWN = 8
TAKE_UP_S = 120.0
_STEP_SCORE = {"greedy": "the loss on validation", "diverse": "minus the mix of score and disagreement"}
METRICS = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "brier": "Brier",
    "ece_equal_width": "ECE equal width",
    "ece_equal_mass": "ECE equal mass",
    "ece_equal_width_after_temperature": "ECE equal width calibrated",
    "ece_equal_mass_after_temperature": "ECE equal mass calibrated",
    "rmse": "RMSE",
    "mae": "MAE",
    "nll": "NLL",
    "coverage95": "coverage of 95 %",
}


def summary(ensemble: dict[str, Any]) -> Group:
    """One ensemble: how it is, how it combines, its members, and its versions where there are several."""
    parts: list[RenderableType] = [headline(ensemble), *_about(ensemble), "", members(ensemble)]
    if len(ensemble["versions"]) > 1:
        parts += ["", versions(ensemble["versions"])]
    return Group(*parts)


def headline(ensemble: dict[str, Any]) -> str:
    """Its name and state in a line."""
    reason = f" ({ensemble['reason']})" if ensemble["reason"] else ""
    return f"ensemble {ensemble['id']} {ensemble['name']!r}: {ensemble['state']}{reason}"


def progress(ensemble: dict[str, Any]) -> str:
    """How many members are ready, in a line."""
    ready = sum(member["state"] == "ready" for member in ensemble["members"])
    return f"{headline(ensemble)}; {ready} of {len(ensemble['members'])} members ready"


def _about(ensemble: dict[str, Any]) -> Iterator[str]:
    count = len(ensemble["members"])
    yield (
        f"version {ensemble['version']}: {ensemble['mode']}, {ensemble['combine']} of {count}, "
        f"quorum {ensemble['quorum']}, deadline {ensemble['deadline_ms']:,g} ms, {ensemble['precision']}, "
        f"{ensemble['placement']} devices{_calibrated(ensemble)}"
    )
    yield from on_its_way(ensemble)
    yield from selection(ensemble["selection"])


def on_its_way(ensemble: dict[str, Any]) -> Iterator[str]:
    """The version that takes over, or the canary, if there is one."""
    if ensemble["target"] is not None:
        yield f"version {ensemble['target']} takes over when it is ready"
    if ensemble["canary"] is not None:
        yield f"version {ensemble['canary']} answers {100 * ensemble['canary_share']:g} % of the requests, as a canary"


def _calibrated(ensemble: dict[str, Any]) -> str:
    temperature = ensemble.get("temperature") or 1.0
    return "" if temperature == 1.0 else f", calibrated: temperature {number(temperature)}"


def selection(found: dict[str, Any]) -> Iterator[str]:
    """How the members were found, and where what they are combined by was fitted."""
    fitted = "" if found.get("fitted_on") is None else f"; fitted on {found['fitted_on']}"
    forced = ", by force" if found.get("forced") else ""
    among = "" if found["method"] == "explicit" else f" of {found.get('candidates', '?')} finished trials"
    yield f"chosen: {found['method']}{among}{fitted}{forced}"
    if found.get("note"):
        yield f"  {found['note']}"
    if path := found.get("path"):
        yield f"  trial ids in turn, with {_STEP_SCORE.get(found['method'], 'the score')}: {_path(path)}"


def _path(steps: list[dict[str, Any]]) -> str:
    shown = ", ".join(f"{step['trial_id']} ({number(step['score'])})" for step in steps[:STEPS_SHOWN])
    more = f" … {len(steps)} steps; --json has them all" if len(steps) > STEPS_SHOWN else ""
    return f"{shown}{more}"


def members(ensemble: dict[str, Any]) -> Group:
    """The members, a line for each of their processes, and why one is not as it should be."""
    columns = ("#", "trial", "id", "weight", "state", "device", "pid", "epoch", "p50 ms", "p99 ms", "late")
    rows = (row for member in ensemble["members"] for row in _processes(member))
    reasons = (line for member in ensemble["members"] for line in _reasons(member))
    return Group(table(None, columns, rows), *reasons)


def _processes(member: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    several = len(member["replicas"]) > 1
    for replica in member["replicas"]:
        late = replica["late_share"]
        yield (
            f"{member['position']}.{replica['number']}" if several else member["position"],
            member["trial_number"],
            member["trial_id"],
            number(member["weight"]),
            state(replica["state"] if several else member["state"]),
            replica["device_id"] or "–",
            replica["pid"] or "–",
            replica["epoch"],
            number(replica["p50_ms"]),
            number(replica["p99_ms"]),
            "–" if late is None else f"{100 * late:.3g} %",
        )


def _reasons(member: dict[str, Any]) -> Iterator[str]:
    """What the member says, or its processes where those say something else; each once."""
    for reason in dict.fromkeys(r for r in (member["reason"], *(x["reason"] for x in member["replicas"])) if r):
        yield f"trial {member['trial_number']} (id {member['trial_id']}): {reason}"


def versions(found: list[dict[str, Any]]) -> Table:
    """Every version, the oldest first."""
    rows = (
        (v["number"], v["role"], v["combine"], v["k"], ", ".join(map(str, v["trial_ids"])), v["created_at"] or "–")
        for v in found
    )
    return table(None, ("version", "role", "combined by", "members", "trial ids", "built at"), rows)


def listed(ensembles: list[dict[str, Any]]) -> Table:
    """Ensembles, one a line."""
    rows = (
        (
            e["id"],
            e["name"],
            state(e["state"]),
            f"{sum(m['state'] == 'ready' for m in e['members'])}/{len(e['members'])}",
            e["mode"],
            e["combine"],
            e["version"],
            "–" if e["sweep_id"] is None else e["sweep_id"],
            e["reason"],
        )
        for e in ensembles
    )
    return table(None, ("id", "name", "state", "ready", "mode", "combine", "version", "sweep", "reason"), rows)


def follow(client: Client, ensemble: EnsembleName, *, quiet: bool = False) -> dict[str, Any]:
    """Show an ensemble until it is as ready as it gets, or over; Ctrl-C leaves it building, and says so."""
    try:
        return _wait(client, ensemble) if quiet else _follow(client, ensemble)
    except KeyboardInterrupt:
        print(f"ensemble {ensemble} is built without you: podium ensemble show {ensemble}", file=sys.stderr)
        raise


def follow_block(client: Client, sweep: dict[str, Any], *, quiet: bool = False) -> dict[str, Any] | None:
    """The ensemble that a finished sweep's `ensemble:` block asks for, when it is ready; None when it cannot be."""
    end = time.monotonic() + TAKE_UP_S
    while (ensemble_id := sweep["ensemble_id"]) is None:
        if sweep["ensemble_error"] is not None:
            return None
        if time.monotonic() > end:
            raise ServiceError(f"nobody began the ensemble of sweep {sweep['id']} within {TAKE_UP_S:g} s; try again")
        time.sleep(REFRESH_S)
        sweep = client.sweep(sweep["id"])
    return follow(client, ensemble_id, quiet=quiet)


def _wait(client: Client, ensemble: EnsembleName) -> dict[str, Any]:
    while not settled(found := client.ensemble(ensemble)):
        time.sleep(REFRESH_S)
    return found


def _follow(client: Client, ensemble: EnsembleName) -> dict[str, Any]:
    said = ""
    with console.status("") if console.is_terminal else contextlib.nullcontext() as live:
        while True:
            found = client.ensemble(ensemble)
            line = progress(found)
            if live is not None:
                live.update(line)
            elif line != said:
                console.print(line)
            said = line
            if settled(found):
                return found
            time.sleep(REFRESH_S)


# Evaluations.


def evaluation(found: dict[str, Any], ensemble: dict[str, Any]) -> Group:
    """The scores of the ensemble and its members, what their difference is worth, and which quorum is safe."""
    result = found["result"]
    parts: list[RenderableType] = [
        f"{ensemble['name']}, version {found['version']}, on {result['rows']:,} rows ({result['split']}):",
        "",
        scores(result, _names(found, ensemble)),
        "",
        *_differences(result),
        *_doubt(result),
        "",
        "When only so many members answer:",
        degradation(result),
        *_quorum(result),
    ]
    if result["flags"]:
        parts += ["", *(f"Beware: {flag}" for flag in result["flags"])]
    return Group(*parts)


def _names(found: dict[str, Any], ensemble: dict[str, Any]) -> list[str]:
    """The members by their trials, as far as the version that was measured is the one that is shown."""
    if found["version"] == ensemble["version"]:
        return [f"trial {member['trial_number']}" for member in ensemble["members"]]
    return [f"member {position}" for position in range(len(found["result"]["members"]))]


def scores(result: dict[str, Any], names: list[str]) -> Table:
    """A line for each member and one for the ensemble."""
    shown = [key for key in METRICS if key in result["ensemble"]]
    rows = []
    for position, (name, of_member) in enumerate(zip(names, result["members"], strict=True)):
        mark = " (best single)" if position == result["best_member"] else ""
        rows.append((f"{name}{mark}", *(_figure(of_member[key]) for key in shown)))
    rows.append(("ensemble", *(_figure(result["ensemble"][key]) for key in shown)))
    return table(None, ("network", *(METRICS[key] for key in shown)), rows)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _differences(result: dict[str, Any]) -> Iterator[str]:
    metric = METRICS[result["metric"]]
    yield f"Ensemble minus best single network: {_change(metric, result['difference'], result['difference_ci95'])}"
    if result["log_loss_difference"] is not None:
        yield f"  {_change('log loss', result['log_loss_difference'], result['log_loss_difference_ci95'])}"
    if (test := result["mcnemar"]) is not None:
        yield (
            f"Right where the other is wrong: the ensemble on {test['only_ensemble_right']:,} rows, the best single "
            f"network on {test['only_best_right']:,}; McNemar's p = {test['p_value']:.3g}"
        )


def _change(name: str, difference: float, interval: list[float]) -> str:
    low, high = interval
    return f"{difference:+.4f} {name}, 95 % interval {low:+.4f} to {high:+.4f}"


def _doubt(result: dict[str, Any]) -> Iterator[str]:
    labels = result["task"] == "classification"
    pairs = [value for row, values in enumerate(result["disagreement"]) for value in values[row + 1 :]]
    if pairs:
        mean = sum(pairs) / len(pairs)
        yield f"Two members differ on {100 * mean:.1f} % of the rows" if labels else f"Two members differ by {mean:.4g}"
    whole, own, between = map(number, result["uncertainty"].values())
    if labels:
        yield f"Entropy of a prediction: {whole} nats = {own} of the members' own + {between} of their disagreement"
    else:
        yield f"Variance of a prediction: {whole} = {own} of the noise + {between} of the members' disagreement"


def degradation(result: dict[str, Any]) -> Table:
    """How good the answers are when only so many members answer: the worst and the mean over which they are."""
    sizes = result["degradation"]["sizes"]
    figures = list(sizes[0]["worst"])
    columns = [f"{what} {METRICS[key]}" for key in figures for what in ("worst", "mean")]
    rows = []
    for size in sizes:
        cells = (_figure(size[what][key]) for key in figures for what in ("worst", "mean"))
        subsets = f"{size['subsets']:,}" + ("" if size["every_subset"] else " of more")
        rows.append((size["answered"], subsets, *cells))
    return table(None, ("members", "subsets", *columns), rows)


def _quorum(result: dict[str, Any]) -> Iterator[str]:
    safe, count = result["degradation"]["safe_quorum"], len(result["members"])
    if safe is None:
        yield "No quorum is safe: on these rows, even all members together are worse than the best single network"
        return
    yield f"Safe quorum: {safe} of {count}; whichever members answer, they are no worse than the best single network"
    if result["quorum"] < safe:
        yield f"The quorum is {result['quorum']}: a degraded answer may be worse than the best single network's"


# Predictions.


def prediction(answer: dict[str, Any]) -> Group:
    """Each row's label or values with their doubt, and what every member did."""
    rows = list(_predicted(answer))
    parts: list[RenderableType] = [table(None, rows[0], rows[1:])] if len(rows) > 1 else []
    left = len(answer["outputs"]) - ROWS_SHOWN
    if left > 0:
        parts.append(f"… and {left:,} more rows; --json has them all")
    return Group(*parts, "", *answered(answer))


def _predicted(answer: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    outputs = answer["outputs"][:ROWS_SHOWN]
    if "labels" in answer:
        yield ("row", "label", "probability", "entropy", "mutual information")
        doubt = zip(outputs, answer["labels"], answer["entropy"], answer["mutual_information"], strict=False)
        for row, (output, label, entropy, shared) in enumerate(doubt):
            yield (row, label, f"{max(output):.4f}", number(entropy), number(shared))
        return
    yield ("row", "values", "standard deviation")
    for row, output in enumerate(outputs):
        variance = (answer.get("variance") or [None] * len(outputs))[row]
        deviation = "–" if variance is None else ", ".join(number(part**0.5) for part in variance)
        yield (row, ", ".join(number(part) for part in output), deviation)


def answered(answer: dict[str, Any]) -> Iterator[str]:
    """How many answered in what time, and what each member did."""
    yield (
        f"{answer['outcome']}: {answer['answered']} of {answer['requested']} members in {answer['total_ms']:.1f} ms "
        f"(deadline {answer['deadline_ms']:,g} ms, quorum {answer['quorum']}, {answer['ensemble']} "
        f"version {answer['version']}, {answer['mode']})"
    )
    for member in answer["members"]:
        why = f": {member['message']}" if member.get("message") else ""
        times = f", {member['compute_ms']:.1f} ms" if member["status"] == "ok" else ""
        yield f"  trial id {member['trial_id']}: {member['status']}{times}{why}"
