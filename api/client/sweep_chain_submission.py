"""Submits several sweep files, as a chain if wanted: each starts when the one before has finished; CLI.

Loads pydantic, YAML and numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from podium.api.client import sweep_file_document
from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.specfile.spec_file import SweepFile
from podium.sweep.values.errors import PodiumError


class ReadFile(NamedTuple):
    """A checked sweep file, and the document to submit."""

    file: SweepFile
    document: dict[str, Any]


def read_all(paths: Sequence[Path], project: str | None = None) -> list[ReadFile]:
    """All files, checked before one is submitted; `project` replaces theirs.

    Raises `InvalidSpecError` with file and line.
    """
    found = [ReadFile(*sweep_file_document.read(path)[:2]) for path in paths]
    for each in found:
        sweep_file_document.print_notes(each.file)
    if project is not None:
        return [each._replace(document={**each.document, "project": project}) for each in found]
    return found


def submit_all(
    client: Client, files: Sequence[ReadFile], after: Sequence[int | str], *, chain: bool
) -> list[SweepInfo]:
    """Submit sweeps in order; `after`: sweeps that all of them wait for. Raises `InvalidSpecError`.

    In a chain, a name in `after` or `fix_from` means the sweep of the last earlier file with this name.
    """
    done: list[SweepInfo] = []
    for each in files:
        previous = [done[-1]["id"]] if chain and done else []
        names = {sweep["name"]: sweep["id"] for sweep in done} if chain else {}
        document = _with_ids(each.document, names)
        known = document.get("after") or []
        wanted = [*known, *(one for one in (*after, *previous) if one not in known)]
        try:
            submitted = {**document, "after": wanted} if wanted else document
            done.append(sweep_file_document.submit(client.submit, each.file, submitted))
        except PodiumError:
            if done:
                ids = ", ".join(str(sweep["id"]) for sweep in done)
                print(f"submitted before this error: sweep {ids}", file=sys.stderr)
            raise
    return done


def _with_ids(document: dict[str, Any], names: Mapping[str, int]) -> dict[str, Any]:
    """The document with ids instead of the names of sweeps of the chain."""
    changed = dict(document)
    if document.get("after"):
        ids = (names.get(one, one) for one in document["after"])
        changed["after"] = list(dict.fromkeys(ids))
    fix_from = document.get("fix_from")
    if isinstance(fix_from, dict) and fix_from.get("sweep") in names:
        changed["fix_from"] = {**fix_from, "sweep": names[fix_from["sweep"]]}
    return changed
