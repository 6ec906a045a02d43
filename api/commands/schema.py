"""`podium schema`: the sweep file as JSON Schema, for editors; cli."""

from __future__ import annotations


def schema() -> None:
    """Print JSON Schema of the sweep file, for editors."""
    from api import show  # rich and pydantic: not for --help
    from sweep.schema import sweep_schema

    show.print_json(sweep_schema())
