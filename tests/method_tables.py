"""The tables of search methods in the documentation, from the registry and the builders of samplers; pytest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.sweep.search.samplers import builder_of
from podium.sweep.spec.search_method_registry import AUTO, AUTO_SUMMARY, METHODS, Independent, SearchMethod

_CODE_PARAMETERS: dict[Independent, str] = {"tpe": "by TPE", "random": "at random", "brute_force": "every value"}


def method_table() -> str:
    """What each value of `method` does."""
    own = [(_accepted(method), method.best_for, _described(method)) for method in METHODS.values()]
    auto = (f"`{AUTO}`", "", f"{AUTO_SUMMARY}, as described below")
    pbt = (
        "`{type: pbt, …}`",
        "schedules of hyperparameters",
        "population-based training: parameters change between two intervals, by the results of the other trials "
        "([guide](../how-to/population-based-training.md))",
    )
    custom = (
        "`{sampler: MODULE:CLASS, args: {…}}`",
        "everything else",
        "any Optuna sampler class: [below](#optuna-sampler-and-pruner-classes)",
    )
    return _table(("method", "suited for", "what it does"), [*own, auto, pbt, custom])


def property_table() -> str:
    """What differs between methods."""
    header = ("method", "names in other tools", "a parameter that only the code defines", "in a process of its own")
    rows = [
        (f"`{method.name}`", _codes(method.aliases), _CODE_PARAMETERS[method.independent], _slow(method.name))
        for method in METHODS.values()
    ]
    return _table(header, rows)


def warm_start_table() -> str:
    """How methods use the trials of earlier sweeps; methods that do the same share a row."""
    by_use: dict[str, list[str]] = {}
    for method in sorted(METHODS.values(), key=lambda method: not method.uses_results):
        by_use.setdefault(method.warm_start or "none, so `warm_start` is refused", []).append(method.name)
    return _table(("method", "use of earlier trials"), [(_codes(names), use) for use, names in by_use.items()])


def _accepted(method: SearchMethod) -> str:
    also = f" (or {_codes(method.accepted_aliases)})" if method.accepted_aliases else ""
    return f"`{method.name}`{also}"


def _described(method: SearchMethod) -> str:
    return f"{method.summary}; {method.notes}" if method.notes else method.summary


def _slow(name: str) -> str:
    builder = builder_of(name)
    if builder.slow_from_finished is not None:
        return f"from {builder.slow_from_finished} finished trials on"
    if builder.slow_from_trials is None:
        return "never"
    several = "" if builder.slow_with_one_objective else ", with several objectives"
    return f"from {builder.slow_from_trials:,} trials on{several}"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, ("---",) * len(header), *rows))
