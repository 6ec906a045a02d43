"""`podium notify ...`; CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.lazy_groups import group

app = group()
File = Annotated[Path, typer.Argument(metavar="URL-FILE", help="the file of `podium serve --notify`")]


@app.command("test")
def send_test(file: File) -> None:
    """Send a test notification to each target of a file, from this machine. No service is needed."""
    from podium.api.notifications.delivery import Delivery, DeliveryError  # imports a library that is optional
    from podium.api.notifications.notification_target_file import read_targets

    output = lazy_imports.terminal_output
    failed = 0
    for target in read_targets(file):
        try:
            Delivery(target).send("Podium: test", "This is a test notification of `podium notify test`.")
        except DeliveryError as error:
            failed += 1
            output.console.print(output.printable(f"{target.name}: {error}"), highlight=False)
        else:
            kinds = ", ".join(sorted(target.kinds))
            output.console.print(output.printable(f"{target.name}: sent; it gets: {kinds}"), highlight=False)
    raise typer.Exit(1 if failed else 0)


@app.callback()
def notify() -> None:
    """Notifications by mail, chat or webhook."""
