"""Checks that the function, command or script of a sweep exists, without importing user code; CLI."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.spec import builtin_catalog
from podium.sweep.values.code_references import instance_instead
from podium.sweep.values.errors import InvalidSpecError

_TRAINABLE = (
    "{} is a tune.Trainable, but Ray Tune's class API is not supported; write a function `def train(config):` that "
    "runs the steps in a loop and calls tune.report, and set it as program.function"
)
_SCRIPTS = (".py", ".sh", ".pl", ".jl", ".R", ".r")


@dataclass(frozen=True, slots=True)
class Found:
    """The location of the function or script; `words` is the description to show."""

    words: str
    file: Path | None = None
    line: int | None = None


def check_code(program: Mapping[str, Any], folder: Path) -> Found | None:
    """The function or script of a program; None for a built-in model. Raises `InvalidSpecError` if it does not exist.

    `folder`: the folder that a relative `code` is relative to.
    """
    if program.get("bundle") is not None or not {"function", "command", "script"} & program.keys():
        return None
    code = folder / str(program.get("code") or ".")
    if not code.is_dir():
        raise InvalidSpecError.at(("program", "code"), f"folder {code} does not exist")
    if isinstance(program.get("function"), str):
        if isinstance(program.get("constraints"), str):
            _function(str(program["constraints"]), code, "constraints")
        return _function(str(program["function"]), code)
    script = program.get("script")
    _check_scripts([script] if isinstance(script, str) else [], code, "script")
    return _command([str(part) for part in program.get("command") or [script]], code)


def _function(name: str, code: Path, key: str = "function") -> Found:
    module, _, function = name.partition(":")
    file = _module_file(module, code)
    if file is None:
        return _installed(module, code, key)
    try:
        tree = ast.parse(file.read_bytes(), file.name)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidSpecError.at(("program", key), f"{file}{line}: {words}") from None
    defined = dict(_defined(tree.body))
    if function in defined:
        taken = f"{file}:{defined[function]}"
        _check_arguments(tree.body, function, taken, key, may_take_nothing=key == "function" and "wandb" in defined)
        return Found(f"{function} in {file}, line {defined[function]}", file, defined[function])
    if "*" in defined:
        return Found(f"{file}; {function} may be imported by `import *`, not checked", file)
    hint = builtin_catalog.did_you_mean(function, defined) if defined else "it has no definitions"
    raise InvalidSpecError.at(("program", key), f"{file} does not define {function!r}; {hint}")


def _check_arguments(body: list[ast.stmt], name: str, where: str, key: str, *, may_take_nothing: bool) -> None:
    """Checks that a function takes one argument; decorated functions are not checked.

    A function of a module that imports wandb may take none and read its parameters from `wandb.config`.
    """
    if may_take_nothing and _takes_nothing(body, name):
        return
    complaint = _invalid_function_reason(body, name)
    if complaint is not None:
        raise InvalidSpecError.at(("program", key), f"{where}: {complaint}")


def _takes_nothing(body: list[ast.stmt], name: str) -> bool:
    """Whether this name is a function without parameters."""
    functions = [s for s in body if isinstance(s, ast.FunctionDef) and s.name == name]
    if not functions:
        return False
    given = functions[-1].args
    return not (given.posonlyargs or given.args or given.vararg or given.kwonlyargs or given.kwarg)


def _invalid_function_reason(body: list[ast.stmt], name: str) -> str | None:
    """Why the object with this name cannot be called with a trial, as far as the source shows."""
    found = [s for s in body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and s.name == name]
    if not found:
        made_of = _class_of(body, name)
        return None if made_of is None else _invalid_instance_reason(made_of, name)
    if found[-1].decorator_list:
        return None
    if isinstance(found[-1], ast.ClassDef):
        return _TRAINABLE.format(name) if _is_trainable(found[-1]) else instance_instead(name)
    return _invalid_arguments_reason(found[-1].args, name, bound=False)


def _is_trainable(found: ast.ClassDef) -> bool:
    """Whether a class is of Ray Tune's class API, by the names of its bases."""
    return any(getattr(base, "attr", getattr(base, "id", None)) == "Trainable" for base in found.bases)


def _class_of(body: list[ast.stmt], name: str) -> ast.ClassDef | None:
    """The class of the module whose instance an assignment gives this name: `name = Class(…)`."""
    for statement in reversed(body):
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            value = statement.value
            called = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
            return next((s for s in body if isinstance(s, ast.ClassDef) and s.name == called), None)
    return None


def _invalid_instance_reason(made_of: ast.ClassDef, name: str) -> str | None:
    """Why instances of a class cannot be called; classes with bases, keywords or decorators are not checked."""
    calls = [s for s in made_of.body if isinstance(s, ast.FunctionDef) and s.name == "__call__"]
    if calls and not calls[-1].decorator_list:
        return _invalid_arguments_reason(calls[-1].args, name, bound=True)
    if calls or made_of.bases or made_of.keywords or made_of.decorator_list or _assigns(made_of, "__call__"):
        return None
    return f"{name} is not callable: {made_of.name} does not define `__call__(self, trial)`"


def _assigns(made_of: ast.ClassDef, name: str) -> bool:
    return name in dict(_defined(made_of.body))


def _invalid_arguments_reason(given: ast.arguments, name: str, *, bound: bool) -> str | None:
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    first = 1 if bound else 0  # what a method is called on
    if len(positional) <= first and given.vararg is None:
        return (
            f"{name} must take one argument; write `def {'__call__(self, trial)' if bound else f'{name}(trial)'}:`"
            + ("" if bound else f" or `def {name}(config):`")
        )
    needed = positional[first + 1 : len(positional) - len(given.defaults)]
    needed += [a.arg for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    return (
        f"{name} has required parameters besides the first: {', '.join(needed)}; give them defaults" if needed else None
    )


def check_preload(names: Iterable[str]) -> None:
    """Checks that packages are installed, without importing them. Raises `InvalidSpecError`."""
    for position, name in enumerate(names):
        if not _is_installed(name.partition(".")[0]):
            message = f"package {name!r} is not installed in the service's Python environment; install or remove it"
            raise InvalidSpecError.at(("program", "preload", str(position)), message)


def _module_file(module: str, code: Path) -> Path | None:
    path = code.joinpath(*module.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _installed(module: str, code: Path, key: str) -> Found:
    """A module that is not in the folder but may be installed; only its top-level package is looked up."""
    top = module.partition(".")[0]
    here = _module_file(top, code) is not None or (code / top).is_dir()
    if not here and _is_installed(top):
        return Found(f"{module} is an installed package, not in {code}; not checked")
    near = sorted(file.stem for file in code.glob("*.py"))
    hint = builtin_catalog.did_you_mean(module, near) if near else "the folder has no Python files"
    raise InvalidSpecError.at(("program", key), f"no module {module!r} in {code}; {hint}")


def _is_installed(package: str) -> bool:
    try:
        return package != "__main__" and importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a module of this process without a spec
        return False


def _defined(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """The names defined by a module, as far as the source shows, with their lines."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, statement.lineno
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                yield (alias.asname or alias.name).partition(".")[0], statement.lineno
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from ((n.id, n.lineno) for n in ast.walk(target) if isinstance(n, ast.Name))
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from _defined(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _defined(handler.body)


def _command(command: list[str], code: Path) -> Found:
    scripts = [word for word in command if word.endswith(_SCRIPTS) and "${" not in word and not word.startswith("-")]
    _check_scripts(scripts, code, "command")
    path = f"{code}{os.pathsep}{os.environ.get('PATH', '')}"
    if "${" not in command[0] and scripts[:1] != command[:1] and shutil.which(command[0], path=path) is None:
        words = f"executable {command[0]!r} not found on the search path or in {code}"
        raise InvalidSpecError.at(("program", "command"), words)
    file = code / scripts[0] if scripts else None
    return Found(" ".join(command) if file is None else str(file), file)


def _check_scripts(scripts: list[str], code: Path, key: str) -> None:
    for word in scripts:
        if not (code / word).is_file():
            near = sorted(str(file.relative_to(code)) for end in _SCRIPTS for file in code.glob(f"*{end}"))
            hint = builtin_catalog.did_you_mean(word, near) if near else "the folder has no scripts"
            raise InvalidSpecError.at(("program", key), f"no file {word!r} in {code}; {hint}")
