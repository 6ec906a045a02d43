"""`podium doctor`: checks the invariants of a data directory; CLI."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DatabaseUrlFile, DataDir

Artifacts = Annotated[bool, typer.Option("--artifacts/--no-artifacts", help="hash the files that trials saved")]
CANNOT_CHECK = 2


def doctor(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
    artifacts: Artifacts = True,
    url_file: DatabaseUrlFile = None,
) -> None:
    """Check every invariant of a data directory. Read-only; works with or without a running service."""
    arguments = [str(data_dir), *([] if artifacts else ["--no-artifacts"])]
    arguments += [] if url_file is None else ["--url-file", str(url_file)]
    # A separate process loads SQLAlchemy and Alembic; its progress goes to this terminal.
    result = subprocess.run(
        [sys.executable, "-P", "-m", "podium.db.integrity.main", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise typer.Exit(CANNOT_CHECK)
    report = json.loads(result.stdout)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _show(report)
    raise typer.Exit(1 if report["breaches"] else 0)


def _show(report: dict[str, list[dict[str, object]]]) -> None:
    output = lazy_imports.terminal_output
    checked = ", ".join(_counted(report[f"{one}s"], one) for one in ("sweep", "trial", "attempt"))
    breaches = report["breaches"]
    if breaches:
        rows = [(breach["invariant"], _named(breach["rows"]), breach["wrong"]) for breach in breaches]
        output.console.print(output.table(None, ("invariant", "rows", "problem"), rows))
        output.console.print(f"{len(breaches)} breaches in {checked}; see docs/reference/doctor.md")
    else:
        output.console.print(f"{len(report['invariants'])} invariants hold for {checked}")
    for note in report["notes"]:
        output.console.print(f"note: {note}")


def _counted(count: object, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def _named(rows: object) -> str:
    assert isinstance(rows, dict)
    return ", ".join(f"{name} {value}" for name, value in rows.items())
