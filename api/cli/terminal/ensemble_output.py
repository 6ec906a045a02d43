"""Terminal output of ensembles: state, members, evaluations and predictions; CLI."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from podium.api.cli.terminal import member_precision_output
from podium.api.cli.terminal.terminal_output import console, number, state, table
from podium.api.client.client import Client, EnsembleName, settled
from podium.api.client.ensemble_responses import (
    EnsembleInfo,
    EvaluationInfo,
    EvaluationResult,
    MemberInfo,
    Prediction,
    SelectionStep,
    VersionMember,
)
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.values.errors import ServiceError

ROWS_SHOWN = 50
STEPS_SHOWN = 8
BUILD_START_S = 120.0
_STEP_SCORE = {"greedy": "the validation loss", "diverse": "the negative combined score and disagreement"}
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


def summary(ensemble: EnsembleInfo) -> Group:
    """An ensemble: state, combination, members, and versions if there are several."""
    parts: list[RenderableType] = [headline(ensemble), *_about(ensemble), "", members(ensemble)]
    if len(ensemble["versions"]) > 1:
        parts += ["", versions(ensemble)]
    return Group(*parts)


def headline(ensemble: EnsembleInfo) -> str:
    """Name and state in one line."""
    reason = f" ({ensemble['reason']})" if ensemble["reason"] else ""
    return f"ensemble {ensemble['id']} {ensemble['name']!r}: {ensemble['state']}{reason}"


def progress(ensemble: EnsembleInfo) -> str:
    """The number of ready members in one line."""
    ready = sum(member["state"] == "ready" for member in ensemble["members"])
    return f"{headline(ensemble)}; {ready} of {len(ensemble['members'])} members ready"


def _about(ensemble: EnsembleInfo) -> Iterator[str]:
    count = len(ensemble["members"])
    yield (
        f"version {ensemble['version']}: {ensemble['mode']}, {ensemble['combine']} of {count}, "
        f"quorum {ensemble['quorum']}, deadline {ensemble['deadline_ms']:,g} ms, {ensemble['precision']}, "
        f"{ensemble['placement']} devices{_span(ensemble)}{_calibrated(ensemble)}"
    )
    yield from pending_versions(ensemble)
    yield from selection(ensemble)


def pending_versions(ensemble: EnsembleInfo) -> Iterator[str]:
    """A line for the version that will become active, or for the canary."""
    if ensemble["target"] is not None:
        yield f"version {ensemble['target']} becomes active when it is ready"
    if ensemble["canary"] is not None:
        yield f"version {ensemble['canary']} answers {100 * ensemble['canary_share']:g} % of the requests as a canary"


def _span(ensemble: EnsembleInfo) -> str:
    return "" if ensemble["devices"] == 1 else f", {ensemble['devices']} for each member"


def _calibrated(ensemble: EnsembleInfo) -> str:
    temperature = ensemble["temperature"] or 1.0
    return "" if temperature == 1.0 else f", calibrated: temperature {number(temperature)}"


def selection(ensemble: EnsembleInfo) -> Iterator[str]:
    """How the members were selected, and on which split the combination was fitted."""
    found = ensemble["selection"]
    fitted = "" if found["fitted_on"] is None else f"; fitted on {found['fitted_on']}"
    forced = ", forced" if found["forced"] else ""
    candidates = "?" if found["candidates"] is None else found["candidates"]
    among = "" if found["method"] == "explicit" else f" of {candidates} finished trials"
    yield f"selection: {found['method']}{among}{fitted}{forced}"
    if found["note"]:
        yield f"  {found['note']}"
    if path := found["path"]:
        names = _trial_names(ensemble)
        yield f"  trials in order, with {_STEP_SCORE.get(found['method'], 'the score')}: {_path(path, names)}"


def _trial_names(ensemble: EnsembleInfo) -> dict[int, str]:
    """The trials of all versions by id: their numbers, with the sweep if it is another one."""
    return {
        member["trial_id"]: _trial_name(member, ensemble)
        for version in ensemble["versions"]
        for member in version["members"]
    }


def _trial_name(member: VersionMember, ensemble: EnsembleInfo) -> str:
    other = "" if member["sweep_id"] == ensemble["sweep_id"] else f" of sweep {member['sweep_id']}"
    return f"{member['trial_number']}{other}"


def _path(steps: list[SelectionStep], names: dict[int, str]) -> str:
    shown = ", ".join(
        f"{names.get(step['trial_id'], 'id ' + str(step['trial_id']))} ({number(step['score'])})"
        for step in steps[:STEPS_SHOWN]
    )
    more = f" … {len(steps)} steps; use --json to see all" if len(steps) > STEPS_SHOWN else ""
    return f"{shown}{more}"


def members(ensemble: EnsembleInfo) -> Group:
    """The members: one line per replica, and the reasons of those that are not ready."""
    columns = ("trial", "replica", "id", "weight", "state", "device", "pid", "epoch", "p50 ms", "p99 ms", "late")
    rows = (row for member in ensemble["members"] for row in _processes(member))
    reasons = (line for member in ensemble["members"] for line in _reasons(member))
    parts: list[RenderableType] = [table(None, columns, rows), *reasons]
    if any(member["precision"]["requested"] != "float32" for member in ensemble["members"]):
        parts += ["", member_precision_output.precisions(ensemble["members"])]
    return Group(*parts)


def _processes(member: MemberInfo) -> Iterator[tuple[Any, ...]]:
    several = len(member["replicas"]) > 1
    for replica in member["replicas"]:
        late = replica["late_share"]
        yield (
            member["trial_number"],
            replica["number"] if several else "–",
            member["trial_id"],
            number(member["weight"]),
            state(replica["state"] if several else member["state"]),
            ", ".join(replica["device_ids"]) or "–",
            replica["pid"] or "–",
            replica["epoch"],
            number(replica["p50_ms"]),
            number(replica["p99_ms"]),
            "–" if late is None else f"{100 * late:.3g} %",
        )


def _reasons(member: MemberInfo) -> Iterator[str]:
    """The reasons of a member and its replicas, each once."""
    for reason in dict.fromkeys(r for r in (member["reason"], *(x["reason"] for x in member["replicas"])) if r):
        yield f"trial {member['trial_number']} (id {member['trial_id']}): {reason}"


def versions(ensemble: EnsembleInfo) -> Table:
    """All versions, oldest first."""
    rows = (
        (
            v["number"],
            v["role"],
            v["combine"],
            v["k"],
            ", ".join(_trial_name(member, ensemble) for member in v["members"]),
            v["created_at"] or "–",
        )
        for v in ensemble["versions"]
    )
    return table(None, ("version", "role", "combined by", "members", "trials", "built at"), rows)


def listed(ensembles: list[EnsembleInfo]) -> Table:
    """Ensembles, one per line."""
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


def follow(client: Client, ensemble: EnsembleName, *, quiet: bool = False) -> EnsembleInfo:
    """Show an ensemble until it is ready, degraded or stopped; on Ctrl-C the build continues."""
    try:
        return _wait(client, ensemble) if quiet else _follow(client, ensemble)
    except KeyboardInterrupt:
        print(f"ensemble {ensemble} continues to build; `podium ensemble show {ensemble}` to check", file=sys.stderr)
        raise


def follow_block(
    client: Client, sweep: SweepInfo, *, quiet: bool = False, start_s: float = BUILD_START_S
) -> EnsembleInfo | None:
    """Wait for the ensemble of a finished sweep's `ensemble:` block; None if it cannot be built.

    Raises `ServiceError` if the build does not start within `start_s` seconds.
    """
    end = time.monotonic() + start_s
    while (ensemble_id := sweep["ensemble_id"]) is None:
        if sweep["ensemble_error"] is not None:
            return None
        if time.monotonic() > end:
            raise ServiceError(
                f"the build of sweep {sweep['id']}'s ensemble did not start within {start_s:g} s; try again"
            )
        time.sleep(client.refresh_s)
        sweep = client.sweep(sweep["id"])
    return follow(client, ensemble_id, quiet=quiet)


def _wait(client: Client, ensemble: EnsembleName) -> EnsembleInfo:
    while not settled(found := client.ensemble(ensemble)):
        time.sleep(client.refresh_s)
    return found


def _follow(client: Client, ensemble: EnsembleName) -> EnsembleInfo:
    printed = ""
    with console.status("") if console.is_terminal else contextlib.nullcontext() as live:
        while True:
            found = client.ensemble(ensemble)
            line = progress(found)
            if live is not None:
                live.update(line)
            elif line != printed:
                console.print(line)
            printed = line
            if settled(found):
                return found
            time.sleep(client.refresh_s)


# Evaluations.


def evaluation(found: EvaluationInfo, ensemble: EnsembleInfo) -> Group:
    """The scores of the ensemble and its members, their difference, and the safe quorum."""
    result = found["result"]
    assert result is not None
    parts: list[RenderableType] = [
        f"{ensemble['name']}, version {found['version']}, on {result['rows']:,} rows ({result['split']}):",
        "",
        scores(result, _names(found, ensemble)),
        "",
        *_differences(result),
        *_uncertainty(result),
        "",
        "Scores by number of members that answer:",
        degradation(result),
        *_quorum(result),
    ]
    if result["precisions"]:
        parts += [
            "",
            member_precision_output.evaluated_precisions(result["precisions"], _names(found, ensemble)),
        ]
    if result["flags"]:
        parts += ["", *(f"Caveat: {flag}" for flag in result["flags"])]
    return Group(*parts)


def _names(found: EvaluationInfo, ensemble: EnsembleInfo) -> list[str]:
    """The members of the evaluated version by their trials."""
    evaluated = next(version for version in ensemble["versions"] if version["number"] == found["version"])
    return [f"trial {_trial_name(member, ensemble)}" for member in evaluated["members"]]


def scores(result: EvaluationResult, names: list[str]) -> Table:
    """One line per member and one for the ensemble."""
    shown = [key for key in METRICS if key in result["ensemble"]]
    rows = []
    for position, (name, of_member) in enumerate(zip(names, result["members"], strict=True)):
        mark = " (best single)" if position == result["best_member"] else ""
        rows.append((f"{name}{mark}", *(_figure(of_member[key]) for key in shown)))
    rows.append(("ensemble", *(_figure(result["ensemble"][key]) for key in shown)))
    return table(None, ("network", *(METRICS[key] for key in shown)), rows)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _differences(result: EvaluationResult) -> Iterator[str]:
    metric = METRICS[result["metric"]]
    yield f"Ensemble minus best single network: {_change(metric, result['difference'], result['difference_ci95'])}"
    difference, interval = result["log_loss_difference"], result["log_loss_difference_ci95"]
    if difference is not None and interval is not None:
        yield f"  {_change('log loss', difference, interval)}"
    if (test := result["mcnemar"]) is not None:
        yield (
            f"Rows on which only the ensemble is right: {test['only_ensemble_right']:,}; only the best single network: "
            f"{test['only_best_right']:,}; McNemar's p = {test['p_value']:.3g}"
        )


def _change(name: str, difference: float, interval: list[float]) -> str:
    low, high = interval
    return f"{difference:+.4f} {name}, 95 % interval {low:+.4f} to {high:+.4f}"


def _uncertainty(result: EvaluationResult) -> Iterator[str]:
    labels = result["task"] == "classification"
    pairs = [value for row, values in enumerate(result["disagreement"]) for value in values[row + 1 :]]
    if pairs:
        mean = sum(pairs) / len(pairs)
        yield (
            f"Mean pairwise disagreement: {100 * mean:.1f} % of the rows"
            if labels
            else f"Mean pairwise difference: {mean:.4g}"
        )
    whole, own, between = map(number, result["uncertainty"].values())
    if labels:
        yield f"Entropy of a prediction: {whole} nats = {own} expected entropy + {between} mutual information"
    else:
        yield f"Variance of a prediction: {whole} = {own} noise + {between} between members"


def degradation(result: EvaluationResult) -> Table:
    """The worst and mean scores over the subsets of each number of members."""
    sizes = result["degradation"]["sizes"]
    figures = list(sizes[0]["worst"])
    columns = [f"{what} {METRICS[key]}" for key in figures for what in ("worst", "mean")]
    rows = []
    for size in sizes:
        cells = (_figure(size[what][key]) for key in figures for what in ("worst", "mean"))
        subsets = f"{size['subsets']:,}" + ("" if size["every_subset"] else " of more")
        rows.append((size["answered"], subsets, *cells))
    return table(None, ("members", "subsets", *columns), rows)


def _quorum(result: EvaluationResult) -> Iterator[str]:
    safe, count = result["degradation"]["safe_quorum"], len(result["members"])
    if safe is None:
        yield "No quorum is safe: on these rows, the full ensemble is worse than the best single network"
        return
    which = "each member is" if safe == 1 else f"any {safe} members are"
    yield f"Safe quorum: {safe} of {count}: {which} no worse than the best single network"
    if result["quorum"] < safe:
        yield f"The quorum is {result['quorum']}: a degraded answer may be worse than the best single network"


# Predictions.


def prediction(answer: Prediction) -> Group:
    """Each row's label or values with their uncertainty, and every member's answer."""
    rows = list(_predicted(answer))
    parts: list[RenderableType] = [table(None, rows[0], rows[1:])] if len(rows) > 1 else []
    left = len(answer["outputs"]) - ROWS_SHOWN
    if left > 0:
        parts.append(f"… and {left:,} more rows; use --json to see all")
    return Group(*parts, "", *answered(answer))


def _predicted(answer: Prediction) -> Iterator[tuple[Any, ...]]:
    outputs = answer["outputs"][:ROWS_SHOWN]
    if "labels" in answer:
        yield ("row", "label", "probability", "entropy", "mutual information")
        rows = zip(outputs, answer["labels"], answer["entropy"], answer["mutual_information"], strict=False)
        for row, (output, label, entropy, shared) in enumerate(rows):
            yield (row, label, f"{max(output):.4f}", number(entropy), number(shared))
        return
    yield ("row", "values", "standard deviation")
    for row, output in enumerate(outputs):
        variances = answer.get("variance")
        std = "–" if variances is None else ", ".join(number(variance**0.5) for variance in variances[row])
        yield (row, ", ".join(number(value) for value in output), std)


def answered(answer: Prediction) -> Iterator[str]:
    """The number of answers, the time, and the status of each member."""
    yield (
        f"{answer['outcome']}: {answer['answered']} of {answer['requested']} members in {answer['total_ms']:.1f} ms "
        f"(deadline {answer['deadline_ms']:,g} ms, quorum {answer['quorum']}, {answer['ensemble']} "
        f"version {answer['version']}, {answer['mode']})"
    )
    for member in answer["members"]:
        why = f": {member['message']}" if member.get("message") else ""
        times = f", {member['compute_ms']:.1f} ms" if member["status"] == "ok" else ""
        name = f"trial {member['trial_number']} of sweep {member['sweep_id']}"
        yield f"  {name}: {member['status']}{times}{why}"
