"""One command on several resources: each in turn, one line each, exit code 1 if any was refused; CLI."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import typer

from podium.api.cli.terminal import lazy_imports
from podium.sweep.values.errors import PodiumError, ServiceError

Id = TypeVar("Id", int, str)
Answer = TypeVar("Answer", bound=Mapping[str, Any])


def run_each(ids: Iterable[Id], act: Callable[[Id], Answer], line: Callable[[Answer], str], as_json: bool) -> None:
    """Call `act` for each id, and print the state of each: one line per id, or all as one JSON list.

    A refusal is printed on standard error and does not stop the others; the exit code is then 1.
    """
    done, refused = [], False
    for one in ids:
        try:
            done.append(act(one))
        except ServiceError:
            raise
        except PodiumError as error:
            refused = True
            print(error, file=sys.stderr)
        else:
            if not as_json:
                print(line(done[-1]))
    if as_json:
        lazy_imports.terminal_output.print_json(done)
    raise typer.Exit(1 if refused else 0)
