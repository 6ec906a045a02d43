"""Checks of code conventions: names, first docstring lines, and imports at run time."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator, Set
from pathlib import Path

import pytest

from tests.repository import ROOT

PACKAGES = ("sweep", "ensemble", "api", "db")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "core", "base", "misc"}

# Modules that a component must not load, in a separate process: a trial or a member must not wait for web server
# libraries, and the gateway must not wait for torch.
NOT_FOR_TRIALS = ("podium.api", "podium.db", "optuna", "sqlalchemy", "fastapi")
LIGHT = {
    "podium": ("podium.api", "podium.db", "podium.sweep", "podium.ensemble", "numpy", "pydantic", "httpx2"),
    "podium.ensemble.worker.control_messages": (*NOT_FOR_TRIALS, "torch"),
    "podium.sweep.process_template.template_process": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.sweep.ray_cluster.joined_node_guardian": (*NOT_FOR_TRIALS, "torch", "ray"),  # a join waits for it
    "podium.sweep.ray_cluster.ray_head_guardian": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.sweep.ray_cluster.ray_slot_actor": (*NOT_FOR_TRIALS, "torch"),
    "podium.sweep.ray_cluster.ray_slot_relay": (*NOT_FOR_TRIALS, "torch"),
    "podium.sweep.slots.slot_process": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.sweep.trial_process.attempt_runner": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.ensemble.worker.inference_server": (*NOT_FOR_TRIALS, "ray"),
    "podium.api.rest.app": ("torch", "ray", "optuna", "sklearn", "psycopg"),
    "podium.api.gateway.main": ("torch", "ray", "optuna", "sklearn", "psycopg"),
    "podium.sweep.scheduling.database_recorder": ("psycopg",),  # which is only installed for PostgreSQL
    "podium.api.client.client": ("torch", "ray", "optuna", "sqlalchemy", "fastapi"),
    "podium.sweep.specfile.spec_file": ("torch", "ray", "optuna", "sqlalchemy", "fastapi", "numpy"),
}

# Names of constants, and the calls that replace what their first two arguments name, or an item of the first one.
CONSTANT = re.compile(r"(?:.*\.)?_?[A-Z][A-Z0-9_]+")
REPLACING = ("setattr", "delattr", "patch", "object")
REPLACING_ITEMS = ("setitem", "delitem", "dict")
PROGRAM = re.compile(r"^\s*(?:import|from) podium\b", re.MULTILINE)

# Private names that belong to other libraries, or that these read of Podium's objects.
OF_OTHERS = frozenset(
    {"_exit", "_is_multi_objective", "_parsed_url", "_repr_html_", "_storage", "_study_id", "_trial_id"}
)
PRIVATE = re.compile(r"_[a-z]\w*")

# Positional arguments of a call. These functions take any number of them, or only positional ones.
MAX_POSITIONAL = 4
POSITIONAL = frozenset(
    {"__import__", "_import", "create_subprocess_exec", "log.warning", "pack", "partial", "prctl", "select"}
)

UNIT = ROOT / "tests" / "unit"
MIRRORS = (UNIT, ROOT / "tests" / "contract")
# Imports the conftest modules and the named test modules, and prints the first one after which torch is imported.
IMPORT_TESTS = """
import importlib
import sys

for name in ["tests.conftest", "tests.unit.conftest", *sys.argv[1:]]:
    importlib.import_module(name)
    if "torch" in sys.modules:
        print(name)
        break
"""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_module_has_a_docstring() -> None:
    assert not [name(path) for path in [*MODULES, *TESTS] if not _begins_with_docstring(path)]


def _begins_with_docstring(path: Path) -> bool:
    """Whether the first statement is a string that has text in its first line."""
    with path.open() as source:
        tokens = tokenize.generate_tokens(source.readline)
        first = next(token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL))
    return first.type == tokenize.STRING and bool(str(ast.literal_eval(first.string)).partition("\n")[0].strip())


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name)
def test_package_contains_only_its_docstring(path: Path) -> None:
    assert len(ast.parse(path.read_text()).body) == 1


def test_no_module_has_a_vague_name() -> None:
    assert not [name(path) for path in [*MODULES, *TESTS] if path.stem in VAGUE]


@pytest.mark.parametrize(("module", "heavy"), LIGHT.items(), ids=LIGHT)
def test_module_does_not_import_heavy_packages(module: str, heavy: tuple[str, ...]) -> None:
    script = f"import sys, {module}\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_unit_tests_do_not_import_torch() -> None:
    paths = sorted(UNIT.rglob("test_*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    command = [sys.executable, "-c", IMPORT_TESTS, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], "move it to tests/contract/PACKAGE/ROOM, or import torch in the product lazily"


def replaced_constants(source: str) -> list[str]:
    """The constants of other modules that a test, or a program in one of its strings, replaces."""
    tree = ast.parse(source)
    imported = {
        each.asname or each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names
    }
    own = [ast.unparse(target) for target in _replaced(tree) if _is_constant(target, imported)]
    return own + [name for program in _programs(tree) for name in replaced_constants(program)]


def _replaced(tree: ast.AST) -> Iterator[ast.expr]:
    """What is replaced by assignments to other objects, and by monkeypatch and mock."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield target.value if isinstance(target, ast.Subscript) else target
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in REPLACING:
                yield from (each for each in node.args[:2] if isinstance(each, ast.Constant))
            elif called in REPLACING_ITEMS:
                yield from node.args[:1]


def _is_constant(target: ast.expr, imported: set[str]) -> bool:
    if isinstance(target, ast.Attribute):
        return CONSTANT.fullmatch(target.attr) is not None and ast.unparse(target.value) not in ("self", "cls")
    if isinstance(target, ast.Name):
        return CONSTANT.fullmatch(target.id) is not None and target.id in imported
    value = target.value if isinstance(target, ast.Constant) else None
    return isinstance(value, str) and CONSTANT.fullmatch(value) is not None


def _programs(tree: ast.AST) -> Iterator[str]:
    """The strings that are programs which import Podium."""
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for value in values:
        if isinstance(value, str) and PROGRAM.search(value):
            with contextlib.suppress(SyntaxError):
                ast.parse(value)
                yield value


def private_attributes(source: str) -> list[str]:
    """The private attributes that a test uses of objects which it does not define itself."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    own |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr)]
    own |= {node.attr for node in attributes if ast.unparse(node.value) in ("self", "cls")}
    return [ast.unparse(node) for node in attributes if node.attr not in own | OF_OTHERS]


@pytest.mark.parametrize("found", [replaced_constants, private_attributes])
def test_tests_use_parameters_and_public_names(found: Callable[[str], list[str]]) -> None:
    """A constant that a test replaces is a parameter of what uses it; a private name is not part of the interface."""
    others = [path for path in TESTS if path != Path(__file__)]  # the examples below are in strings
    assert {name(path): names for path in others if (names := found(path.read_text()))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("monkeypatch.setattr(slot, 'FORK_SERVER_S', 0.3)", ["'FORK_SERVER_S'"]),
        ("patch.setattr(ports,\n    '_PORTS', range(2))", ["'_PORTS'"]),
        ("monkeypatch.setattr('podium.api.limits.MAX_ROWS', 2)", ["'podium.api.limits.MAX_ROWS'"]),
        ("with mock.patch('podium.api.rest.app.LIMITS'): ...", ["'podium.api.rest.app.LIMITS'"]),
        ("mock.patch.object(samplers, 'GP_ENDS_AT', 12)", ["'GP_ENDS_AT'"]),
        ("monkeypatch.setitem(connection_progress.LIMITS_S, 'head', 0.3)", ["connection_progress.LIMITS_S"]),
        ("from podium.api import LIMITS_S\nLIMITS_S['head'] = 0.3", ["LIMITS_S"]),
        ("supervisor.TICK_S = 0.1", ["supervisor.TICK_S"]),
        ("RUN = 'import podium.api; podium.api.TICK_S = 0.1'", ["podium.api.TICK_S"]),
        ("monkeypatch.setattr(os, 'kill', refuse)\nmonkeypatch.setenv('HOME', '/')\nLIMITS = {}\nLIMITS['a'] = 1", []),
        ("monkeypatch.setitem(os.environ, 'HOME', '/')\nself.LIMIT = 1", []),
    ],
)  # fmt: skip
def test_replaced_constant_is_found(source: str, found: list[str]) -> None:
    assert replaced_constants(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("assert trial._channel.is_truncated", ["trial._channel"]),
        ("class Broken(Protocol):\n    def write(self): super()._write()", ["super()._write"]),
        ("self.slot._events", ["self.slot._events"]),
        ("class Fake:\n    def __init__(self): self._seen = []\nFake()._seen", []),
        ("os._exit(0)", []),
    ],
)
def test_private_attribute_is_found(source: str, found: list[str]) -> None:
    assert private_attributes(source) == found


def long_positional_calls(source: str) -> list[str]:
    """The calls of functions with more than `MAX_POSITIONAL` arguments without a name; CONTRIBUTING.md has the rule."""
    nodes = list(ast.walk(ast.parse(source)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    variadic = {function.name for function in functions if function.args.vararg} | POSITIONAL
    return [
        f"{ast.unparse(node.func)}, line {node.lineno}"
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and sum(not isinstance(each, ast.Starred) for each in node.args) > MAX_POSITIONAL
        and not {ast.unparse(node.func), called := ast.unparse(node.func).rpartition(".")[2]} & variadic
        and not called.lstrip("_")[:1].isupper()
        and called != "cls"
    ]


def test_calls_name_their_arguments() -> None:
    modules = [path for path in MODULES if "migrations" not in path.parts]
    assert {name(path): calls for path in modules if (calls := long_positional_calls(path.read_text()))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("place(1, 2, 3, 4, 5)", ["place, line 1"]),
        ("self.slot.place(1, 2, 3, 4, 5)", ["self.slot.place, line 1"]),
        ("place(1, 2, 3, 4, *others, five=5)", []),
        ("place(1, 2, three=3, four=4, five=5)", []),
        ("def place(*numbers): ...\nplace(1, 2, 3, 4, 5)", []),
        ("select(a, b, c, d, e)\nstruct.pack('4B', 1, 2, 3, 4)", []),
        ("Device(1, 2, 3, 4, 5)\n_Snapshot(1, 2, 3, 4, 5)\ncls(1, 2, 3, 4, 5)", []),
    ],
)
def test_long_positional_call_is_found(source: str, found: list[str]) -> None:
    assert long_positional_calls(source) == found


def test_every_room_is_in_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = [contract["layers"] for contract in contracts if contract["id"] == "floors"]
    listed = {room for line in floors for room in line.split(" | ")}
    folders = [path.parent for package in PACKAGES for path in ROOT.glob(f"{package}/*/__init__.py")]
    assert listed == {f"podium.{folder.parent.name}.{folder.name}" for folder in folders}


def test_each_room_has_a_test_folder() -> None:
    """`tests/unit` and `tests/contract` mirror the rooms; a test of a room is found by its path."""
    rooms = {
        path.parent.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in ROOT.glob(f"{package}/*/__init__.py")
    }
    tested = {room for room in rooms if any(any((mirror / room).rglob("test_*.py")) for mirror in MIRRORS)}
    assert rooms - tested == set()


def test_each_test_folder_is_that_of_a_room() -> None:
    folders = [path for mirror in MIRRORS for package in PACKAGES for path in (mirror / package).glob("*/")]
    stray = [name(path) for path in folders if any(path.rglob("test_*.py")) and not _is_room(path)]
    assert stray == []


def _is_room(folder: Path) -> bool:
    return (ROOT / folder.parent.name / folder.name / "__init__.py").is_file()


def test_no_module_imports_itself_through_others() -> None:
    """No cycle of imports, also of those inside functions; imports of types only are not counted."""
    names = {_module(path): path for path in MODULES}
    imports = {module: _imported(path, names.keys()) - {module} for module, path in names.items()}
    while ends := {module for module, others in imports.items() if not others & imports.keys()}:
        imports = {module: others for module, others in imports.items() if module not in ends}
    assert {module: sorted(others & imports.keys()) for module, others in imports.items()} == {}


def _module(path: Path) -> str:
    return ".".join(("podium", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def _imported(path: Path, known: Set[str]) -> set[str]:
    tree = ast.parse(path.read_text())
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    skipped = {id(node) for block in typing for node in ast.walk(block)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped:
            found |= {each if (each := f"{node.module}.{alias.name}") in known else node.module for alias in node.names}
        elif isinstance(node, ast.Import) and id(node) not in skipped:
            found |= {alias.name for alias in node.names}
    return found & known


def test_queries_write_no_rows() -> None:
    """`db/stores` has all modules that write rows, and `db/queries` none."""
    writes = {"insert", "update", "delete", "RowInsert", "RowUpdate", "DriverStatement", "DriverText"}
    found = {}
    for path in (ROOT / "db" / "queries").glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
        found[name(path)] = sorted(names & writes)
    assert {module: names for module, names in found.items() if names} == {}


def test_modules_are_in_rooms() -> None:
    modules = [path for package in PACKAGES for path in ROOT.glob(f"{package}/*.py")]
    assert [name(path) for path in modules if path.stem != "__init__"] == []


def test_import_contracts_hold() -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    linter = shutil.which("lint-imports", path=path)
    assert linter is not None, "import-linter is not installed"
    done = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
