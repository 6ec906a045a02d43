"""One command for several things: done one by one, said line by line, failed if one failed; cli."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import typer

from podium.sweep.values.errors import PodiumError, ServiceError

Thing = TypeVar("Thing", int, str)


def each(
    things: Iterable[Thing],
    act: Callable[[Thing], dict[str, Any]],
    line: Callable[[dict[str, Any]], str],
    as_json: bool,
) -> None:
    """Do it to each, and print how each is now: a line, or all as one JSON list.

    What is refused is said on standard error, the rest is done all the same, and the exit code is 1.
    """
    done, refused = [], False
    for thing in things:
        try:
            done.append(act(thing))
        except ServiceError:
            raise
        except PodiumError as error:
            refused = True
            print(error, file=sys.stderr)
        else:
            if not as_json:
                print(line(done[-1]))
    if as_json:
        from podium.api.cli.terminal import terminal_output  # rich: not for --help

        terminal_output.print_json(done)
    raise typer.Exit(1 if refused else 0)
