"""Configures logging in forked processes without a write to every logger; processes of the template.

`Logger.setLevel` clears a cache in each logger. torch and its dependencies have 200, in memory that they all share.
"""

from __future__ import annotations

import logging
from typing import TextIO


def set_level() -> None:
    """Log messages of level INFO and above; called before forks, so that `log_to` does not write to the loggers."""
    root = logging.getLogger()
    if root.level != logging.INFO:
        root.setLevel(logging.INFO)


def handler_of(pattern: str) -> logging.StreamHandler[TextIO]:
    """A handler that writes to standard error. `pattern`: of the lines, as `logging.Formatter` takes it."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(pattern))
    return handler


def log_to(handler: logging.Handler) -> None:
    """Log messages of level INFO and above with this handler only."""
    logging.basicConfig(handlers=[handler], force=True)
    set_level()
