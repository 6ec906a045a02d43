"""What is valid in a sweep file and may yet not do what its author thinks: notes of `podium sweep validate`; cli."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sweep import catalog
from sweep.program import CommandProgram
from sweep.spec import SweepSpec
from sweep.wandb_metrics import METRICS_FILE, names_metrics_file

_SEARCH_THE_FILES_OWN = ("gp", "nsga2", "qmc")  # cmaes and grid are refused without parameters
_PLAIN = "${args}"


def notes_of(spec: SweepSpec, code: Path) -> list[str]:
    """Sentences, each with the key that it is about first; `code` is the folder of the program's code."""
    return [*search_notes(spec), *_about_script(spec, code)]


def search_notes(spec: SweepSpec) -> list[str]:
    """What can be said without the code."""
    return list(_about_search(spec))


def _about_search(spec: SweepSpec) -> Iterator[str]:
    if not spec.parameters and spec.method in _SEARCH_THE_FILES_OWN:
        how = "at random" if spec.method == "qmc" else "by TPE, each by itself"
        yield (
            f"method: {spec.method} searches what stands in `parameters`, and nothing does; "
            f"what the program suggests is chosen {how}"
        )


def _about_script(spec: SweepSpec, code: Path) -> Iterator[str]:
    program = spec.program
    if not isinstance(program, CommandProgram):
        return
    if _PLAIN in program.command:
        yield from _about_flags(spec)
    unsaid = [metric.name for metric in spec.objectives if metric.name not in program.metrics]
    if unsaid and not names_metrics_file(code):
        for name in unsaid:
            yield _unsaid(name, program)


def _about_flags(spec: SweepSpec) -> Iterator[str]:
    flags = [name for name, p in spec.parameters.items() if p.values and any(isinstance(v, bool) for v in p.values)]
    for name in flags:
        yield (
            f"parameters.{name}: {_PLAIN} passes --{name}=True and --{name}=False; "
            'for a flag (action="store_true") write ${args_no_boolean_flags}'
        )


def _unsaid(name: str, program: CommandProgram) -> str:
    there = f" ({catalog.suggestion(name, program.metrics)})" if program.metrics else ""
    return (
        f"metric: no pattern in program.metrics is for {name!r}{there} and no code there names {METRICS_FILE}; "
        "a trial that does not report it fails"
    )
