"""The registry of search methods is complete: each method has a builder, and each list derives from the registry.

The tables of the documentation are compared in `tests/project_files/test_documentation_tables.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from podium.sweep.search import samplers
from podium.sweep.search.samplers import (
    SLOW_FROM,
    AskContext,
    builder_of,
    builder_of_class,
    check_complete,
    import_modules,
    independent_sampler,
    is_slow,
    is_slow_soon,
    marks_of_earlier,
    register,
    sampler_of,
)
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec import search_method_registry
from podium.sweep.spec.json_schema import sweep_schema
from podium.sweep.spec.names_in_other_tools import podium_value
from podium.sweep.spec.search_method_registry import AUTO, CUSTOM, METHODS, SearchMethod
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.errors import InvalidSpecError
from tests.repository import ROOT
from tests.specs import spec

FINITE = {"x": {"values": [1, 2]}, "n": {"min": 1, "max": 3}}


@pytest.mark.parametrize("method", METHODS)
def test_each_method_builds_its_own_sampler(method: str) -> None:
    searched = spec(method=method, parameters=FINITE)
    built = sampler_of(AskContext(searched, 0, finished=100), method)
    assert isinstance(built, BaseSampler)
    assert isinstance(built, RandomSampler) == (method in ("random", "grid"))  # the points of a grid are not sampled


@pytest.mark.parametrize(
    "call",
    [
        builder_of,
        lambda method: sampler_of(AskContext(spec(), 0), method),
        lambda method: independent_sampler(spec(), method, 0, "x"),
        lambda method: is_slow(method, 1, 1),
        lambda method: is_slow_soon(method, 1),
        import_modules,
        marks_of_earlier,
    ],
)
def test_unknown_method_raises_lookup_error_everywhere(call: Any) -> None:
    with pytest.raises(LookupError, match="no sampler is registered for search method 'no_such_method'"):
        call("no_such_method")


def test_search_with_unregistered_method_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SweepSpec, "searched_by", "no_such_method")
    with pytest.raises(LookupError, match="no_such_method"):
        Search(spec())


def test_registry_and_builders_are_compared_at_import() -> None:
    with pytest.raises(RuntimeError, match="without a sampler builder: no_such_method"):
        check_complete({**METHODS, "no_such_method": None}, METHODS)
    with pytest.raises(
        RuntimeError, match=re.escape("without an entry in search_method_registry.METHODS: no_such_method")
    ):
        check_complete(METHODS, {**METHODS, "no_such_method": None})
    with pytest.raises(ValueError, match="'tpe' has two sampler builders"):
        register("tpe")(lambda context: RandomSampler())


def test_import_fails_without_builder() -> None:
    source = (ROOT / "sweep" / "search" / "samplers.py").read_text().replace('@register("cmaes", ', "dict(")
    with pytest.raises(RuntimeError, match="without a sampler builder: cmaes; name optuna_class"):
        exec(compile(source, samplers.__file__, "exec"), {"__name__": samplers.__name__})


def test_class_of_optuna_needs_no_builder() -> None:
    method = SearchMethod("mtpe", "s", "b", optuna_class="TPESampler", arguments={"multivariate": True})
    builder = builder_of_class(method)
    assert isinstance(builder.build(AskContext(spec(), 0)), TPESampler) and builder.slow_from_trials is None
    assert builder_of_class(replace(method, warm_start="as its own")).slow_from_trials == SLOW_FROM
    with pytest.raises(RuntimeError, match=r"'mtpe': optuna\.samplers has no class 'Tpe'"):
        builder_of_class(replace(method, optuna_class="Tpe"))


def test_sweep_file_accepts_only_registered_methods() -> None:
    assert get_args(search_method_registry.MethodName) == (*METHODS, AUTO)
    assert get_args(search_method_registry.Method) == (*METHODS, CUSTOM)
    with pytest.raises(InvalidSpecError, match=f"must be one of {', '.join([*METHODS, AUTO])}"):
        spec(method="no_such_method")


def test_schema_describes_each_method() -> None:
    names = next(branch for branch in sweep_schema()["properties"]["method"]["oneOf"] if "enum" in branch)
    assert set(names["enum"]) == {*METHODS, AUTO, *search_method_registry.ACCEPTED_ALIASES}
    assert dict(zip(names["enum"], names["enumDescriptions"], strict=True)) == search_method_registry.descriptions()
    assert all(method.summary and method.best_for for method in METHODS.values())


def test_each_alias_names_one_method() -> None:
    aliases = [alias for method in METHODS.values() for alias in (*method.aliases, *method.accepted_aliases)]
    assert len(set(aliases)) == len(aliases) and not set(aliases) & METHODS.keys()
    for method in METHODS.values():
        assert {podium_value(alias, METHODS) for alias in method.aliases} == {method.name}


@pytest.mark.parametrize("method", METHODS)
def test_warm_start_is_rejected_by_methods_that_ignore_results(method: str) -> None:
    document = {"method": method, "parameters": FINITE, "warm_start": [1]}
    if METHODS[method].uses_results:
        assert spec(**document).warm_start == [1]
        return
    with pytest.raises(InvalidSpecError, match=f"{method} does not use earlier trials"):
        spec(**document)
