"""`podium sweep validate`: checks a sweep file and describes the sweep without starting it; CLI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, Devices, SpecFile
from podium.sweep.values.device import device_name, slots_per_device
from podium.sweep.values.device_state import USABLE_DEVICE_STATES
from podium.sweep.values.errors import InvalidSpecError, ServiceError

if TYPE_CHECKING:
    from podium.sweep.specfile.spec_file import SweepFile

SAMPLES = 3
INVALID = 2


def validate(
    file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, devices: Devices = "auto", as_json: AsJson = False
) -> None:
    """Check a sweep file and describe the sweep; starts nothing.

    Prints the search space, three samples, the code, the data and the number of devices. Exits with 2 if the file is
    invalid.
    """
    submission = lazy_imports.sweep_file_document
    try:
        read, document, code = submission.read(file)
        size = submission.packed_bytes(read, document)
        notes = [*read.notes, *lazy_imports.sweep_file_lint.advice(read, document, data_dir)]
    except InvalidSpecError as error:
        if not as_json:
            raise
        lazy_imports.terminal_output.print_json({"file": str(file), "valid": False, "problems": _problems(error)})
        raise typer.Exit(INVALID) from None
    about = {
        "notes": notes,
        **_about(read, document),
        "code": None if code is None else code.words,
        "code_bytes": size,
        "devices": _devices(read, data_dir, devices),
    }
    if as_json:
        lazy_imports.terminal_output.print_json({"file": str(file), "valid": True, **about})
    else:
        _print(file, about)


def _problems(error: InvalidSpecError) -> list[dict[str, Any]]:
    return [{"line": p.line, "key": ".".join(p.location), "message": p.message} for p in error.problems]


def _about(file: SweepFile, document: dict[str, Any]) -> dict[str, Any]:
    spec, summary = file.spec, lazy_imports.spec_summary
    return {
        "name": spec.name,
        "method": f"auto ({spec.searched_by})" if spec.method == "auto" else spec.method_name,
        "seed": spec.seed,
        "metrics": [f"{metric.name} ({metric.goal})" for metric in spec.objectives],
        "run_cap": spec.run_cap,
        "early_terminate": spec.early_terminate.pruner or spec.early_terminate.type,
        "terms": summary.describe_terms(spec),
        "space": summary.search_space(spec),
        "grid_size": summary.grid_size(spec),
        "samples": lazy_imports.random_configurations.sample_configurations(spec, SAMPLES) if spec.parameters else [],
        "data": document["program"].get("data"),
    }


def _devices(file: SweepFile, data_dir: Path, devices: str) -> dict[str, Any]:
    """The devices of the running service, or those that `--devices` selects on this machine."""
    try:
        with lazy_imports.Client.of(data_dir) as client:
            found = client.devices()
        kinds = {device["kind"] for device in found}
        usable = [device for device in found if device["state"] in USABLE_DEVICE_STATES]
        fitting = sum(file.spec.resources.fits(device["kind"], device["id"]) for device in usable)
        plan: dict[str, Any] = {"of": client.url, "kind": "/".join(sorted(kinds)) or "none", "count": len(usable)}
        shared = slots_per_device(device["id"] for device in found)
        why = f"{len(found) - len(usable)} more accept no trials" if len(usable) < len(found) else ""
    except ServiceError:
        here = lazy_imports.local_devices(lazy_imports.service_settings.DevicePlan.parse(devices))
        plan, why, shared = {"of": None, "kind": here.kind, "count": here.count}, here.why, 1
        fitting = here.count if file.spec.resources.fits(here.kind, device_name(here.kind, 0)) else 0
    wanted = file.spec.resources
    each = wanted.slots(shared)
    fits = fitting // each
    at_once = min(fits, wanted.max_concurrent or fits, file.spec.run_cap)
    return {**plan, "why": why, "wanted": wanted.device, "node": wanted.node, "at_once": at_once, "each": each}


def _print(file: Path, about: dict[str, Any]) -> None:
    write, summary = lazy_imports.terminal_output.console.print, lazy_imports.spec_summary
    for note in about["notes"]:
        write(f"note: {note}")
    write(f"{file}: valid")
    write(summary.describe_sweep(about))
    for key, words in about["terms"].items():
        write(f"{key}: {words}")
    write("")
    if about["space"]:
        _print_space(about)
    for label, text in (("code", _code(about)), ("data", _data(about["data"]))):
        if text:
            write(f"{label}: {text}")
    write(f"devices: {summary.describe_devices(about['devices'])}")


def _code(about: dict[str, Any]) -> str | None:
    if about["code"] is None:
        return None
    size = about["code_bytes"]
    return about["code"] if size is None else f"{about['code']}; {max(1, size // 1000):,} kB to upload"


def _print_space(about: dict[str, Any]) -> None:
    output = lazy_imports.terminal_output
    columns = ("parameter", "kind", "range or choices", "scale", "condition")
    output.console.print(output.full_table(columns, [_row(parameter) for parameter in about["space"]]))
    output.console.print("")
    rows = [(number, output.params(params)) for number, params in enumerate(about["samples"], 1)]
    output.console.print(output.table(None, ("sample", "random configuration (from the seed)"), rows))
    output.console.print("")


def _row(parameter: dict[str, Any]) -> tuple[str, ...]:
    return tuple(parameter[key] for key in ("name", "kind", "range", "scale", "condition"))


def _data(data: dict[str, Any] | None) -> str | None:
    if data is None:
        return None
    paths = [data[key] for key in ("root", "idx", "file") if data.get(key)]
    names = [data["name"]] if data.get("name") else []
    return f"{', '.join([*names, *paths])}: {lazy_imports.memory_mapped_datasets.check(data)}"
