"""Hints for valid sweep files that may not do what their author expects, for `podium sweep validate`; CLI and api."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.grid import Grid
from podium.sweep.spec.program import CommandProgram, FunctionProgram
from podium.sweep.spec.search_method_registry import METHODS
from podium.sweep.spec.sweep_spec import MAX_RUN_CAP, SweepSpec
from podium.sweep.specfile.slow_import_detection import slow_imports
from podium.sweep.specfile.wandb_metric_source import METRICS_FILE, names_metrics_file, uses_wandb

_PLAIN = "${args}"
MAX_NAMED = 20  # names in hints of one kind


def hints_for(spec: SweepSpec, code: Path) -> list[str]:
    """Hints, each beginning with its key; `code` is the folder of the program's code."""
    return [*search_hints(spec), *_script_hints(spec, code), *_import_hints(spec, code)]


def search_hints(spec: SweepSpec) -> list[str]:
    """The hints that do not need the code."""
    return [*_search_hints(spec), *_enqueue_hints(spec)]


def _search_hints(spec: SweepSpec) -> Iterator[str]:
    method = METHODS.get(spec.method_name)
    if not spec.parameters and method is not None and method.declared_only:
        how = "at random" if method.independent == "random" else "by independent TPE"
        yield (
            f"method: {spec.method} applies only to `parameters`, which is empty; "
            f"parameters that the program suggests are chosen {how}"
        )
    if spec.method == "grid" and (size := Grid(spec.parameters).size) > spec.run_cap:
        yield _first_of_grid(spec, size)


def _first_of_grid(spec: SweepSpec, size: int) -> str:
    remedy = f"set run_cap: {size} for all" if size <= MAX_RUN_CAP else f"run_cap is at most {MAX_RUN_CAP:,}"
    return (
        f"run_cap: the grid has {size:,} points, but the sweep ends after {spec.run_cap:,} trials, "
        f"in an order given by the seed; {remedy}"
    )


def _enqueue_hints(spec: SweepSpec) -> Iterator[str]:
    unknown = sorted({name for params in spec.enqueue for name in params} - spec.parameters.keys())
    for name in unknown[:MAX_NAMED]:
        near = f" ({builtin_catalog.did_you_mean(name, spec.parameters)})" if spec.parameters else ""
        yield f"enqueue: {name!r} is not in parameters{near}; its value is used only if the function suggests {name!r}"


def _script_hints(spec: SweepSpec, code: Path) -> Iterator[str]:
    program = spec.program
    if not isinstance(program, CommandProgram):
        return
    if _PLAIN in program.command:
        yield from _flag_hints(spec)
    unsaid = [metric.name for metric in spec.objectives if metric.name not in program.metrics]
    if unsaid and not names_metrics_file(code) and not uses_wandb(code):
        for name in unsaid:
            yield _missing_metric_hint(name, program)


def _import_hints(spec: SweepSpec, code: Path) -> Iterator[str]:
    """Slow packages that each trial would import again."""
    program = spec.program
    if isinstance(program, FunctionProgram) and (slow := slow_imports(program.function, code, program.preload)):
        modules = ", ".join([*program.preload, *slow])
        yield f"program.preload: each trial imports {' and '.join(slow)}; to import once, set preload: [{modules}]"


def _flag_hints(spec: SweepSpec) -> Iterator[str]:
    flags = [name for name, p in spec.parameters.items() if p.values and any(isinstance(v, bool) for v in p.values)]
    for name in flags:
        yield (
            f"parameters.{name}: {_PLAIN} passes --{name}=True and --{name}=False; "
            'for a flag (action="store_true") use ${args_no_boolean_flags}'
        )


def _missing_metric_hint(name: str, program: CommandProgram) -> str:
    there = f" ({builtin_catalog.did_you_mean(name, program.metrics)})" if program.metrics else ""
    return (
        f"metric: program.metrics has no pattern for {name!r}{there}, and the code does not use {METRICS_FILE} or "
        "wandb; a trial that does not report it fails"
    )
