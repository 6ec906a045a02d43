"""`podium schema`: the sweep file as JSON Schema, for editors; CLI."""

from __future__ import annotations

from podium.api.cli.terminal import lazy


def schema() -> None:
    """Print the JSON Schema of the sweep file, for editors."""
    lazy.terminal_output.print_json(lazy.sweep_schema())
