"""`podium login`: a link that logs a browser in; CLI."""

from __future__ import annotations

import sys

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir


def login(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Print a link that opens the dashboard, logged in. It works once, for 10 minutes."""
    with lazy_imports.Client.of(data_dir) as client:
        link = client.login_link()
    if as_json:
        lazy_imports.terminal_output.print_json(link)
        return
    print(link["url"])
    print("The link works once, for 10 minutes.", file=sys.stderr)
