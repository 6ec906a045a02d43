"""`podium sweep validate`: what a sweep file means, before anything is started; cli."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from api.commands.options import DEFAULT_DATA_DIR, AsJson, DataDir, Devices, SpecFile

if TYPE_CHECKING:
    from sweep.spec_file import SweepFile

SAMPLES = 3
INVALID = 2


def validate(
    file: SpecFile, data_dir: DataDir = DEFAULT_DATA_DIR, devices: Devices = "auto", as_json: AsJson = False
) -> None:
    """Check a sweep file and say what it means, starting nothing.

    Its space, three samples, its code, its data, and on how many devices it would run. Exits with 2 if it is wrong.
    """
    from api import show  # rich, pydantic and YAML: not for --help
    from api.commands import sweep_files
    from sweep.errors import InvalidSpecError

    try:
        read, document, code = sweep_files.read(file)
        size = sweep_files.packed(read, document)
        notes = [*read.notes, *sweep_files.foreseen(read, document, data_dir)]
    except InvalidSpecError as error:
        if not as_json:
            raise
        show.print_json({"file": str(file), "valid": False, "problems": _problems(error)})
        raise typer.Exit(INVALID) from None
    about = {
        "notes": notes,
        **_about(read, document),
        "code": None if code is None else code.words,
        "code_bytes": size,
        "devices": _devices(read, data_dir, devices),
    }
    if as_json:
        show.print_json({"file": str(file), "valid": True, **about})
    else:
        _print(file, about)


def _problems(error: Any) -> list[dict[str, Any]]:
    return [{"line": p.line, "key": ".".join(p.location), "message": p.message} for p in error.problems]


def _about(file: SweepFile, document: dict[str, Any]) -> dict[str, Any]:
    from sweep.sampling import samples
    from sweep.spec_words import grid_size, space, terms

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
    from api.client import Client
    from sweep.errors import ServiceError
    from sweep.local_devices import local_devices
    from sweep.settings import DevicePlan

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
    from api import show
    from sweep.spec_words import devices_in_words, sweep_in_words

    for note in about["notes"]:
        show.console.print(f"note: {note}")
    show.console.print(f"{file}: valid")
    show.console.print(sweep_in_words(about))
    for key, words in about["terms"].items():
        show.console.print(f"{key}: {words}")
    show.console.print("")
    if about["space"]:
        _print_space(about)
    for label, words in (("code", _code(about)), ("data", _data(about["data"]))):
        if words:
            show.console.print(f"{label}: {words}")
    show.console.print(f"devices: {devices_in_words(about['devices'])}")


def _code(about: dict[str, Any]) -> str | None:
    if about["code"] is None:
        return None
    size = about["code_bytes"]
    return about["code"] if size is None else f"{about['code']}; {max(1, size // 1000):,} kB to upload"


def _print_space(about: dict[str, Any]) -> None:
    from api import show

    columns = ("parameter", "kind", "range or choices", "scale", "condition")
    show.console.print(show.full_table(columns, [_row(parameter) for parameter in about["space"]]))
    show.console.print("")
    rows = [(number, show.params(params)) for number, params in enumerate(about["samples"], 1)]
    show.console.print(show.table(None, ("sample", "at random, by the seed"), rows))
    show.console.print("")


def _row(parameter: dict[str, Any]) -> tuple[str, ...]:
    return tuple(parameter[key] for key in ("name", "kind", "range", "scale", "condition"))


def _data(data: dict[str, Any] | None) -> str | None:
    if data is None:
        return None
    from sweep import datasets

    paths = [data[key] for key in ("root", "idx", "file") if data.get(key)]
    return f"{', '.join([*([data['name']] if data.get('name') else []), *paths])}: {datasets.check(data)}"
