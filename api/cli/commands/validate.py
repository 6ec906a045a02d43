"""`podium sweep validate`: what a sweep file means, before anything is started; cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, Devices, SpecFile

if TYPE_CHECKING:
    from podium.sweep.specfile.spec_file import SweepFile

SAMPLES = 3
INVALID = 2


def validate(
    file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, devices: Devices = "auto", as_json: AsJson = False
) -> None:
    """Check a sweep file and say what it means, starting nothing.

    Its space, three samples, its code, its data, and on how many devices it would run. Exits with 2 if it is wrong.
    """
    from podium.api.cli.terminal import terminal_output  # rich, pydantic and YAML: not for --help
    from podium.api.client import sweep_submission
    from podium.sweep.values.errors import InvalidSpecError

    try:
        read, document, code = sweep_submission.read(file)
        size = sweep_submission.packed(read, document)
        notes = [*read.notes, *sweep_submission.foreseen(read, document, data_dir)]
    except InvalidSpecError as error:
        if not as_json:
            raise
        terminal_output.print_json({"file": str(file), "valid": False, "problems": _problems(error)})
        raise typer.Exit(INVALID) from None
    about = {
        "notes": notes,
        **_about(read, document),
        "code": None if code is None else code.words,
        "code_bytes": size,
        "devices": _devices(read, data_dir, devices),
    }
    if as_json:
        terminal_output.print_json({"file": str(file), "valid": True, **about})
    else:
        _print(file, about)


def _problems(error: Any) -> list[dict[str, Any]]:
    return [{"line": p.line, "key": ".".join(p.location), "message": p.message} for p in error.problems]


def _about(file: SweepFile, document: dict[str, Any]) -> dict[str, Any]:
    from podium.sweep.specfile.random_configurations import samples
    from podium.sweep.specfile.spec_summary import grid_size, space, terms

    spec = file.spec
    return {
        "name": spec.name,
        "method": f"auto ({spec.searched_by})" if spec.method == "auto" else spec.method_name,
        "seed": spec.seed,
        "metrics": [f"{metric.name} ({metric.goal})" for metric in spec.objectives],
        "run_cap": spec.run_cap,
        "early_terminate": spec.early_terminate.pruner or spec.early_terminate.type,
        "terms": terms(spec),
        "space": space(spec),
        "grid_size": grid_size(spec),
        "samples": samples(spec, SAMPLES) if spec.parameters else [],
        "data": document["program"].get("data"),
    }


def _devices(file: SweepFile, data_dir: Path, devices: str) -> dict[str, Any]:
    """The devices of the running service, or what `--devices` gives here."""
    from podium.api.client.client import Client
    from podium.sweep.runtime.local_devices import local_devices
    from podium.sweep.runtime.settings import DevicePlan
    from podium.sweep.values.errors import ServiceError

    try:
        with Client.of(data_dir) as client:
            found = client.devices()
        kinds = {device["kind"] for device in found}
        usable = [device for device in found if device["state"] in ("ready", "busy")]
        plan: dict[str, Any] = {"of": client.url, "kind": "/".join(sorted(kinds)) or "none", "count": len(usable)}
        why = f"{len(found) - len(usable)} more take no trials" if len(usable) < len(found) else ""
    except ServiceError:
        here = local_devices(DevicePlan.parse(devices))
        plan, why = {"of": None, "kind": here.kind, "count": here.count}, here.why
    wanted, cap = file.spec.resources.device, file.spec.resources.max_concurrent
    fits = plan["count"] if wanted in ("auto", plan["kind"]) else 0
    return {**plan, "why": why, "wanted": wanted, "at_once": min(fits, cap or fits, file.spec.run_cap)}


def _print(file: Path, about: dict[str, Any]) -> None:
    from podium.api.cli.terminal import terminal_output
    from podium.sweep.specfile.spec_summary import devices_in_words, sweep_in_words

    for note in about["notes"]:
        terminal_output.console.print(f"note: {note}")
    terminal_output.console.print(f"{file}: valid")
    terminal_output.console.print(sweep_in_words(about))
    for key, words in about["terms"].items():
        terminal_output.console.print(f"{key}: {words}")
    terminal_output.console.print("")
    if about["space"]:
        _print_space(about)
    for label, words in (("code", _code(about)), ("data", _data(about["data"]))):
        if words:
            terminal_output.console.print(f"{label}: {words}")
    terminal_output.console.print(f"devices: {devices_in_words(about['devices'])}")


def _code(about: dict[str, Any]) -> str | None:
    if about["code"] is None:
        return None
    size = about["code_bytes"]
    return about["code"] if size is None else f"{about['code']}; {max(1, size // 1000):,} kB to upload"


def _print_space(about: dict[str, Any]) -> None:
    from podium.api.cli.terminal import terminal_output

    columns = ("parameter", "kind", "range or choices", "scale", "condition")
    terminal_output.console.print(
        terminal_output.full_table(columns, [_row(parameter) for parameter in about["space"]])
    )
    terminal_output.console.print("")
    rows = [(number, terminal_output.params(params)) for number, params in enumerate(about["samples"], 1)]
    terminal_output.console.print(terminal_output.table(None, ("sample", "at random, by the seed"), rows))
    terminal_output.console.print("")


def _row(parameter: dict[str, Any]) -> tuple[str, ...]:
    return tuple(parameter[key] for key in ("name", "kind", "range", "scale", "condition"))


def _data(data: dict[str, Any] | None) -> str | None:
    if data is None:
        return None
    from podium.sweep.data import datasets

    paths = [data[key] for key in ("root", "idx", "file") if data.get(key)]
    return f"{', '.join([*([data['name']] if data.get('name') else []), *paths])}: {datasets.check(data)}"
