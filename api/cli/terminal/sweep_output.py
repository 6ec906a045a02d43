"""Terminal output of sweeps and trials: counts, best trials, reasons, warnings and budgets; CLI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from podium.api.cli.terminal.terminal_output import number, params, printable, table
from podium.sweep.values.search_messages import FallbackReason

if TYPE_CHECKING:
    from podium.api.client.client import Client
    from podium.api.client.sweep_responses import BestTrialInfo, LinkedSweepInfo, SweepInfo, WarmStartInfo
    from podium.api.client.trial_responses import AttemptInfo, RankInfo, TrialInfo

_RULES = {"last": "last", "min": "lowest", "max": "highest"}
MAX_ROWS = 20  # of a Pareto front
TERMINAL = ("finished", "failed", "cancelled")
_FALLBACKS: dict[str, str] = {
    FallbackReason.SLOW: "the method had proposed nothing by the deadline",
    FallbackReason.FAILED: "the method failed",
    FallbackReason.PROCESS_ENDED: "the process of the method ended too often",
    FallbackReason.MANY_TRIALS: "the sweep has more trials than its method supports",
}


def counts(sweep: SweepInfo) -> str:
    """The number of trials by state, as text."""
    order = ("finished", "pruned", "failed", "cancelled", "running", "waiting")
    return ", ".join(f"{sweep['counts'][name]} {name}" for name in order if sweep["counts"].get(name))


def best(sweep: SweepInfo) -> str:
    """The best value so far."""
    found, (metric, *_) = sweep["best"], objectives(sweep)
    if found is None:
        return f"best {metric} –"
    values = found["values"] or {metric: found["value"]}
    shown = ", ".join(f"{name} {number(value)}" for name, value in values.items())
    return f"best {shown} (trial {found['number']}{_by_rule(sweep)})"


def _by_rule(sweep: SweepInfo) -> str:
    """Which value of a trial counts, where it is not its best one."""
    spec, rule = sweep["spec"], sweep["value_rule"]
    goal = (spec.get("metrics") or [spec["metric"]])[0]["goal"]
    if rule == {"maximize": "max", "minimize": "min"}[goal]:
        return ""
    return f", by {_RULES[rule]} value"


def objectives(sweep: SweepInfo) -> list[str]:
    """The names of a sweep's objective metrics."""
    spec = sweep["spec"]
    return [metric["name"] for metric in spec.get("metrics") or [spec["metric"]]]


def top(client: Client, sweep: SweepInfo) -> list[BestTrialInfo]:
    """The best five trials of a sweep, or with several objectives the Pareto front."""
    return client.best(sweep["id"], None if len(objectives(sweep)) > 1 else 5)


def top_table(sweep: SweepInfo, found: list[BestTrialInfo]) -> Table:
    """A table of the trials of `top`, with a column for each objective."""
    names = objectives(sweep)
    rows = [(b["number"], *values(b, names), params(b["params"])) for b in found[:MAX_ROWS]]
    if len(names) == 1:
        return table(None, ("trial", "value", "parameters"), rows)
    more = f" (the first {MAX_ROWS} of {len(found)} trials)" if len(found) > MAX_ROWS else ""
    return table(f"Pareto front{more}", ("trial", *names, "parameters"), rows)


def violated(trial: TrialInfo) -> str:
    """The constraints that a trial violates, as text; "" for none."""
    names = [name for name, amount in trial["constraints"].items() if amount > 0]
    return f"violates {', '.join(names)}" if names else ""


def sampler(trial: TrialInfo) -> str:
    """What chose the parameters of a trial, as text: its sampler, and why another one than the method's."""
    if trial["fallback_reason"] is not None:
        because = _FALLBACKS.get(trial["fallback_reason"], trial["fallback_reason"])
        error = f": {trial['fallback_error']}" if trial["fallback_error"] else ""
        return f"{trial['sampler']}, because {because}{error}"
    if trial["proposed_for"] is not None:
        return f"{trial['sampler']}, proposed for trial {trial['proposed_for']}"
    return trial["sampler"]


def values(trial: TrialInfo | BestTrialInfo, names: list[str]) -> list[str]:
    """A cell for each objective."""
    if len(names) == 1:
        return [number(trial["value"])]
    return [number((trial["values"] or {}).get(name)) for name in names]


def warm_start(account: WarmStartInfo) -> str:
    """The trials that a sweep's search started from, as text."""
    text = f"starts from {account['trials']} trials of earlier sweeps"
    if account["dropped"]:
        text += f"; {account['dropped']} do not fit its parameters ({'; '.join(account['why'])})"
    if account["left_out"]:
        text += f"; {account['left_out']:,} more were left out: neither among the best nor the newest"
    return text


def linked(sweeps: Sequence[LinkedSweepInfo]) -> str:
    """Sweeps before or after another one, as text."""
    return ", ".join(printable(f"sweep {each['id']} {each['name']!r} ({each['state']})") for each in sweeps)


def details(sweep: SweepInfo) -> list[str]:
    """What users wrote about a sweep, one line each, and its description."""
    archived = ["archived"] if sweep["archived"] else []
    lines = [
        f"project: {sweep['project']}" if sweep["project"] else "",
        f"tags: {' '.join(sweep['tags'])}" if sweep["tags"] else "",
        f"owner: {sweep['owner']}" if sweep["owner"] else "",
        ", ".join([*(["starred"] if sweep["starred"] else []), *archived]),
        *(sweep["description"] or "").splitlines(),
    ]
    return [printable(line) for line in lines if line]


def chain(sweep: SweepInfo) -> list[str]:
    """The sweeps before and after a sweep, and the values that it took, one line each."""
    lines = []
    if sweep["predecessors"]:
        lines.append(f"after: {linked(sweep['predecessors'])}")
    if (fixed := sweep["fixed"]) is not None:
        lines.append(f"fixed from trial {fixed['number']} of sweep {fixed['sweep_id']}: {params(fixed['params'])}")
    if sweep["successors"]:
        lines.append(f"before: {linked(sweep['successors'])}")
    return lines


def budget(sweep: SweepInfo) -> str:
    """The used and allowed budget, as text; "" without one."""
    has = sweep["budget"]
    if has is None:
        return ""
    parts = [
        f"{name} {spending['used']:,.1f} of {spending['allowed']:,.10g} s"
        for name, spending in (("wall_s", has["wall_s"]), ("device_s", has["device_s"]))
        if spending["allowed"] is not None
    ]
    if plateau := has["plateau"]:
        parts.append(f"{plateau['used']} of {plateau['allowed']} trials without improvement")
    if target := has["target"]:
        reached = "not reached" if target["reached_by"] is None else f"reached by trial {target['reached_by']}"
        parts.append(f"target {target['value']:g} {reached}")
    return ", ".join(parts)


def population(sweep: SweepInfo) -> str:
    """How far a population is, as text; "" for other sweeps."""
    has = sweep["population"]
    if has is None:
        return ""
    at = f"interval {has['most']}" if has["fewest"] == has["most"] else f"intervals {has['fewest']} to {has['most']}"
    donors = (
        "1 started from another trial" if has["exploits"] == 1 else f"{has['exploits']:,} started from other trials"
    )
    return f"population: {has['trials']:,} trials at {at}; {has['intervals']:,} intervals ended, {donors}"


def peak_memory(attempt: AttemptInfo | RankInfo) -> str:
    """The highest memory of an attempt, and of its GPUs; a dash if it was not measured."""
    peaks = {"": attempt["peak_memory_mb"], " of the GPU": attempt["peak_gpu_memory_mb"]}
    return ", ".join(f"{peak:,.0f} MB{of}" for of, peak in peaks.items() if peak is not None) or "–"


def warnings(sweep: SweepInfo) -> list[Text]:
    """A line for each warning of a sweep."""
    return [Text(printable(f"warning: {warning['message']}"), style="yellow") for warning in sweep["warnings"]]


def provenance(sweep: SweepInfo) -> list[str]:
    """What is known of a sweep's origin, one line per fact."""
    known, lines = sweep["provenance"], []
    if known["git_commit"] is not None:
        changes = {True: " with uncommitted changes", None: " (uncommitted changes: unknown)"}
        lines.append(f"code: git commit {known['git_commit']}{changes.get(known['git_dirty'], '')}")
    if known["command"]:
        lines.append(printable(f"submitted by: {' '.join(known['command'])}"))
    if known["packages_sha256"] is not None:
        lines.append(f"packages: {known['packages_sha256'][:16]}…; podium sweep packages {sweep['id']} lists them")
    return lines


def reason(sweep: SweepInfo) -> str:
    """The reason of a sweep's state, and why the sweep waits, as text; "" without either."""
    own, wait = sweep["reason"], sweep["wait_message"]
    if own and wait:
        return f"{own}; its last trials wait: {wait}" if sweep["state"] == "stopping" else wait
    return own or wait


def drained_devices(sweep: SweepInfo) -> str:
    """The state and reason of a paused or stopping sweep; "" otherwise."""
    return f"; {sweep['state']}: {reason(sweep)}" if sweep["state"] in ("paused", "stopping") else ""
