"""`podium doctor`: whether all that must hold does hold; cli."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated

import typer

from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir

Artifacts = Annotated[bool, typer.Option("--artifacts/--no-artifacts", help="hash the files that trials left")]
CANNOT = 2


def doctor(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False, artifacts: Artifacts = True) -> None:
    """Check every invariant of a data directory. It changes nothing, and works with the service up or down."""
    arguments = [str(data_dir), *([] if artifacts else ["--no-artifacts"])]
    # Its own process: SQLAlchemy and Alembic have no business in this one. What it says on the way is for the terminal.
    result = subprocess.run(
        [sys.executable, "-P", "-m", "podium.db.audit.audit", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise typer.Exit(CANNOT)
    report = json.loads(result.stdout)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _show(report)
    raise typer.Exit(1 if report["breaches"] else 0)


def _show(report: dict[str, list[dict[str, object]]]) -> None:
    from podium.api.cli.terminal import terminal_output  # rich: not for --help

    looked = f"{report['sweeps']} sweeps, {report['trials']} trials, {report['attempts']} attempts"
    breaches = report["breaches"]
    if breaches:
        rows = [(breach["invariant"], _named(breach["rows"]), breach["wrong"]) for breach in breaches]
        terminal_output.console.print(terminal_output.table(None, ("invariant", "rows", "what is wrong"), rows))
        terminal_output.console.print(f"{len(breaches)} breaches over {looked}; docs/doctor.md says what to do")
    else:
        terminal_output.console.print(f"{len(report['invariants'])} invariants hold over {looked}")
    for note in report["notes"]:
        terminal_output.console.print(f"note: {note}")


def _named(rows: object) -> str:
    assert isinstance(rows, dict)
    return ", ".join(f"{name} {value}" for name, value in rows.items())
