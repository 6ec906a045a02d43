"""`podium schema`: the sweep file as JSON Schema, for editors; CLI."""

from __future__ import annotations

from podium.api.cli.terminal import lazy_imports


def schema() -> None:
    """Print the JSON Schema of the sweep file, for editors."""
    lazy_imports.terminal_output.print_json(lazy_imports.sweep_schema())
