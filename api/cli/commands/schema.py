"""`podium schema`: the sweep file as JSON Schema, for editors; cli."""

from __future__ import annotations


def schema() -> None:
    """Print JSON Schema of the sweep file, for editors."""
    from podium.api.cli.terminal import terminal_output  # rich and pydantic: not for --help
    from podium.sweep.spec.json_schema import sweep_schema

    terminal_output.print_json(sweep_schema())
