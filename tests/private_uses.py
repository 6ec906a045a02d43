"""Finds uses of Optuna's private API in the source of a module."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator, Sequence


def private_uses(source: str) -> list[tuple[int, str]]:
    """Lines and names of the uses of private API in a module that imports Optuna; [] for other modules.

    A private attribute is the module's own if the module itself defines or assigns it, unless a class of Optuna that it
    derives from has it too.
    """
    tree = ast.parse(source)
    imported = _optuna_names(tree)
    if not imported:
        return []
    nodes = list(ast.walk(tree))
    inherited = {name for node in nodes if isinstance(node, ast.ClassDef) for name in _inherited(node, imported)}
    own = _own_names(nodes) - inherited
    used = [(node, name) for node in nodes for name in _private_names(node, inherited) if name not in own]
    return sorted((getattr(node, "lineno", 0), name) for node, name in used)


def _optuna_names(tree: ast.AST) -> dict[str, str]:
    """What is imported from Optuna: the local name, and the full one."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias for alias in node.names if _is_optuna(alias.name)]
            found |= {alias.asname or "optuna": alias.name if alias.asname else "optuna" for alias in names}
        elif isinstance(node, ast.ImportFrom) and _is_optuna(node.module or ""):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _is_optuna(module: str) -> bool:
    return module.split(".")[0] == "optuna"


def _inherited(node: ast.ClassDef, imported: dict[str, str]) -> Iterator[str]:
    """The private names of the classes of Optuna that a class derives from, with the attributes of an instance."""
    for base in node.bases:
        first, _, rest = ast.unparse(base).partition(".")
        if first in imported:
            for kind in pkgutil.resolve_name(f"{imported[first]}.{rest}".removesuffix(".")).__mro__:
                yield from filter(_is_private, vars(kind))
                if _is_optuna(kind.__module__):
                    yield from filter(_is_private, re.findall(r"self\.(_\w+)", inspect.getsource(kind)))


def _own_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that the module defines, or that its classes use of themselves."""
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    return defined | {node.attr for node in attributes if ast.unparse(node.value) == "self"}


def _private_names(node: ast.AST, inherited: set[str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and _is_optuna(node.module or ""):
        yield from (name for alias in node.names if _has_private_part(name := f"{node.module}.{alias.name}"))
    elif isinstance(node, ast.Import):
        yield from (a.name for a in node.names if _is_optuna(a.name) and _has_private_part(a.name))
    elif isinstance(node, ast.Attribute) and _is_private(node.attr):
        yield node.attr
    elif isinstance(node, ast.FunctionDef) and node.name in inherited:
        yield node.name
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr", "delattr"):
        names = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
        yield from (str(name) for name in names if _is_private(str(name)))
    elif isinstance(node, ast.Constant) and re.fullmatch(r"optuna(\.\w+)+", str(node.value)):
        yield from filter(_has_private_part, [str(node.value)])


def _has_private_part(name: str) -> bool:
    return any(map(_is_private, name.split(".")))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
