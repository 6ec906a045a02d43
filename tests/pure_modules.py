"""The modules whose docstring states that they are pure, and the uses in them that contradict it.

A pure module depends only on its arguments and on the objects that it owns. It reads no clock, file, environment or
database, starts no thread or process, and draws no random number without a seed. It may log.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.repository import ROOT

PURE = re.compile(r"\bpure\b", re.IGNORECASE)
IMPURE_IMPORTS = (
    "asyncio", "concurrent", "contextvars", "io", "multiprocessing", "os", "podium.db", "podium.sweep.runtime.clock",
    "queue", "secrets", "selectors", "shutil", "socket", "sqlalchemy", "sqlite3", "subprocess", "sys", "tempfile",
    "threading", "time", "urllib", "uuid",
)  # fmt: skip
IMPURE_FUNCTIONS = frozenset({"open", "print", "input"})
IMPURE_METHODS = frozenset(  # of paths, and of `datetime`
    {
        "exists", "glob", "is_dir", "is_file", "iterdir", "mkdir", "now", "read_bytes", "read_text", "rename",
        "resolve", "rmdir", "stat", "today", "touch", "unlink", "utcnow", "write_bytes", "write_text",
    }
)  # fmt: skip
SEEDED = "Random"  # of `random`, with an argument


def pure_modules(folder: Path = ROOT) -> list[Path]:
    """The modules below `folder` with the word in the first paragraph of their docstring; not the packages' lists."""
    paths = [path for package in ("sweep", "ensemble", "api", "db") for path in (ROOT / package).rglob("*.py")]
    modules = sorted(path for path in paths if path.is_relative_to(folder) and path.name != "__init__.py")
    return [path for path in modules if states_pure(path.read_text())]


def states_pure(source: str) -> bool:
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return PURE.search(docstring.partition("\n\n")[0]) is not None


def impure_uses(source: str) -> list[str]:
    """The imports and calls that depend on, or change, more than arguments and objects of the module."""
    return list(_impure_uses(ast.parse(source)))


def _impure_uses(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_impure_import(alias.name))
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if _is_impure_import(name) or node.module == "random")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and _is_impure_call(node):
            yield ast.unparse(node.func)


def _is_impure_import(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in IMPURE_IMPORTS)


def _is_impure_call(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id in IMPURE_FUNCTIONS
    assert isinstance(call.func, ast.Attribute)
    if isinstance(call.func.value, ast.Name) and call.func.value.id == "random":
        return call.func.attr != SEEDED or not call.args
    return call.func.attr in IMPURE_METHODS
