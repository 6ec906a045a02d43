"""The command line, `podium`: parses options, calls the service over HTTP and prints the answer; CLI."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.lazy_groups import CommandSource, group, lazy_group
from podium.sweep.values.errors import (
    BundleError,
    ConversionError,
    DatabaseError,
    DataDirectoryError,
    DataError,
    InvalidSpecError,
    NoDeviceError,
    PodiumError,
    ServiceError,
    StudyError,
)

EXIT_CODES: dict[type[PodiumError], int] = {
    InvalidSpecError: 2,
    DataError: 2,
    BundleError: 2,
    ConversionError: 2,
    StudyError: 2,
    DatabaseError: 3,
    DataDirectoryError: 3,
    ServiceError: 4,
    NoDeviceError: 4,
}
INTERRUPTED = 130
_COMMANDS = "podium.api.cli.commands."
COMMANDS = {
    "demo": CommandSource(_COMMANDS + "demo", "demo", "Sweep an MLP on real data and ensemble the best three."),
    "serve": CommandSource(_COMMANDS + "serve", "serve", "Run the service until Ctrl-C."),
    "status": CommandSource(_COMMANDS + "status", "status", "Print whether the service is ready, and its components."),
    "login": CommandSource(_COMMANDS + "login", "login", "Print a link that opens the dashboard, logged in."),
    "devices": CommandSource(_COMMANDS + "devices", "app", "List, drain and return devices."),
    "node": CommandSource(_COMMANDS + "node", "app", "List, drain, return and remove nodes."),
    "doctor": CommandSource(_COMMANDS + "doctor", "doctor", "Check every invariant of a data directory."),
    "sweep": CommandSource(_COMMANDS + "sweep", "app", "Submit, follow and control sweeps."),
    "trial": CommandSource(_COMMANDS + "trial", "app", "Show, stop, retry, annotate and tag trials."),
    "ensemble": CommandSource(_COMMANDS + "ensemble", "app", "Build, evaluate and query ensembles of trials."),
    "token": CommandSource(_COMMANDS + "token", "app", "Create, list and revoke access tokens."),
    "notify": CommandSource(_COMMANDS + "notify", "app", "Test notifications by mail, chat or webhook."),
    "db": CommandSource(_COMMANDS + "db", "app", "Back up, restore, check, upgrade or copy the database."),
    "backup": CommandSource(_COMMANDS + "backup", "backup", "Back up the database and the files that it names."),
    "restore": CommandSource(_COMMANDS + "backup", "restore", "Restore a backup into a new data directory."),
    "schema": CommandSource(_COMMANDS + "schema", "schema", "Print the JSON Schema of the sweep file, for editors."),
}

app = group(
    "Hyperparameter sweeps and ensembles: one neural network per device, the best k on the podium.",
    cls=lazy_group(COMMANDS),
    name="podium",
    epilog="Exit codes: 0 success, 1 failure, 2 invalid input, 3 database or data directory, 4 service, "
    "130 interrupted.",
    add_completion=True,
)


def _print_versions(wanted: bool) -> None:
    """Those that must be equal on all machines of a cluster; Python up to its minor version."""
    if wanted:
        found = lazy_imports.package_versions.versions()
        print(", ".join(f"{name} {found.get(name, '(unknown)')}" for name in ("podium", "ray", "python")))
        raise typer.Exit


@app.callback()
def podium(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the versions of Podium, Ray and Python.", callback=_print_versions, is_eager=True
        ),
    ] = False,
) -> None:
    """Only the commands do anything; Typer builds a group from a callback."""


def _printable(error: PodiumError) -> str:
    """The message with control characters escaped: parts of it come from clients and trials."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in str(error))


def main() -> None:
    """Run a command; a `PodiumError` becomes one message on standard error and an exit code."""
    try:
        app()
    except PodiumError as error:
        print(_printable(error), file=sys.stderr)
        sys.exit(next((code for cls, code in EXIT_CODES.items() if isinstance(error, cls)), 1))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
