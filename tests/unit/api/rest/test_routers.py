"""The table of routers is complete, and routers are independent of each other."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from fastapi import APIRouter

from podium.api.rest.routers import ROUTERS
from tests.repository import ROOT
from tests.service_rig import ServiceRig

REST = ROOT / "api" / "rest"
TABLE = REST / "routers.py"
ROUTE_MODULES = sorted(REST.rglob("*_routes.py"))


def name(path: Path) -> str:
    return path.relative_to(REST).as_posix()


def imported(path: Path) -> set[str]:
    """Every module that a file imports, and every name imported from one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def is_route_module(module: str) -> bool:
    return module.startswith("podium.api.rest.") and module.rpartition(".")[2].endswith("_routes")


@pytest.mark.parametrize("path", ROUTE_MODULES, ids=name)
def test_no_router_imports_a_router(path: Path) -> None:
    assert not [module for module in imported(path) if is_route_module(module)]


@pytest.mark.parametrize("path", ROUTE_MODULES, ids=name)
def test_every_router_is_in_the_table(path: Path) -> None:
    module = importlib.import_module("podium.api.rest." + ".".join(path.relative_to(REST).with_suffix("").parts))
    found = [value for value in vars(module).values() if isinstance(value, APIRouter)]
    assert found
    assert all(router in ROUTERS for router in found)


def test_every_router_of_the_table_is_in_a_module_named_routes() -> None:
    assert len([module for module in imported(TABLE) if is_route_module(module)]) == len(ROUTE_MODULES)
    assert len(set(map(id, ROUTERS))) == len(ROUTERS)


def test_routers_are_defined_only_in_modules_named_routes() -> None:
    others = [path for path in REST.rglob("*.py") if path not in ROUTE_MODULES]
    assert not [name(path) for path in others if "APIRouter(" in path.read_text()]


def test_order_of_the_table_hides_no_route(service: ServiceRig) -> None:
    """A path without parameters is not matched by an earlier route of the same method."""
    routes = [route for router in ROUTERS for route in router.routes]
    for position, route in enumerate(routes):
        path, methods = route.path, route.methods  # type: ignore[attr-defined]
        if "{" not in path:
            earlier = [each for each in routes[:position] if each.path_regex.match(path) and each.methods & methods]  # type: ignore[attr-defined]
            assert not earlier, (path, earlier)
