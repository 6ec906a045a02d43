"""Imports what components share before they are forked, so that each import is done once; `podium serve`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

from podium.sweep.runtime.garbage_collection import without_collection
from podium.sweep.runtime.thread_count_variables import thread_count_variables

# What the migration of the database needs; the other imports take place next to it.
DATABASE = ("podium.db.schema.sqlite_database",)
# Not `podium.sweep.scheduling.main`: Ray and Optuna are imported by the scheduler only.
COMPONENTS = ("podium.api.rest.main", "podium.api.gateway.main", "podium.ensemble.host.main")


def import_shared(modules: Sequence[str], is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Import modules, unless `is_stopping` becomes true in between.

    A module that cannot be imported is left to the component that needs it, whose log then has the reason.
    """
    before = {name: os.environ.get(name) for name in thread_count_variables(1)}
    os.environ.update(thread_count_variables(1))  # read when a library is loaded: it starts no threads
    try:
        with without_collection():
            for module in modules:
                if not is_stopping():
                    _import(module)
    finally:
        _restore(before)


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except Exception:  # noqa: BLE001 - whatever it is, it is raised again in the component
        sys.modules.pop(module, None)


def _restore(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
