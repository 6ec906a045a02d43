"""`podium serve`: runs the service until Ctrl-C or SIGTERM; the CLI's process becomes the supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.serve_options import takes_settings
from podium.sweep.values.errors import ServiceError

PARENT = "PODIUM_PARENT"


@takes_settings
def serve(**options: Any) -> None:
    """Run the service until Ctrl-C. Its components: Ray, the API, the scheduler, the ensemble host and the gateways."""
    try:
        settings = lazy_imports.settings_from(options)
    except ServiceError as error:
        raise typer.BadParameter(str(error)) from error
    with _interrupts_held():
        if sys.stderr.isatty():
            where = f"data in {settings.data_dir}, devices: {options['devices']}"
            _print(f"Starting Podium ({where}); prints a login link when it is ready")
        if remark := lazy_imports.sharing_remark(settings.devices, settings.trials_per_device):
            _print(remark)
        startup = lazy_imports.startup
        parent = os.environ.pop(PARENT, None)
        if parent is not None:
            lazy_imports.die_with_parent(int(parent), signal.SIGTERM)
    startup.serve(settings, _print)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Defer SIGINT and SIGTERM while modules are imported.

    Python ignores an interrupt that arrives in a callback of its import locks. One that arrives in `exec` of a text, as
    when a dataclass is made, ends the process by the signal, even if it is caught.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
