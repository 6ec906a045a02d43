"""The command line, `podium`: parses, calls the service over HTTP, prints; nothing heavy before its turn."""

from __future__ import annotations

import sys

import typer

from podium.api.cli.commands import (
    db,
    demo,
    devices,
    doctor,
    ensemble,
    login,
    schema,
    serve,
    status,
    sweep,
    token,
    trial,
)
from podium.api.cli.terminal.lazy_groups import QuickGroup
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


app = typer.Typer(
    name="podium",
    cls=QuickGroup,
    help="Hyperparameter sweeps and ensembles: one neural network per device, the best k on the podium.",
    epilog="Exit codes: 0 done, 1 it failed, 2 bad input, 3 database or data directory, 4 service, 130 interrupted.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,  # rich help costs 70 ms of the 200 that --help may take
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("status")(status.status)
app.command("login")(login.login)
app.add_typer(devices.app, name="devices")
app.command("doctor")(doctor.doctor)
app.add_typer(sweep.app, name="sweep")
app.add_typer(trial.app, name="trial")
app.add_typer(ensemble.app, name="ensemble")
app.add_typer(token.app, name="token")
app.add_typer(db.app, name="db")
app.command("schema")(schema.schema)


def _printable(error: PodiumError) -> str:
    """The message; what a client or a trial wrote into it cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in str(error))


def main() -> None:
    """Run a command; a `PodiumError` is one clear message and its exit code."""
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
