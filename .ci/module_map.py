"""Write the map of modules into the `__init__.py` of each room: `module_map.py [--check]`; run by `make check`.

The map has the first line of each module's docstring, without the processes at its end, so that one file describes a
room. Exits with 1 and prints one line for each outdated map.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("sweep", "ensemble", "api", "db")
HEADING = "Modules:"
WIDTH = 120


def main() -> int:
    """Rewrite outdated maps, or with `--check` only print them."""
    check = "--check" in sys.argv[1:]
    outdated = [path for path in rooms() if path.read_text() != mapped(path)]
    for path in outdated:
        if check:
            print(f"{path.relative_to(ROOT)}: the map of modules is out of date; run `python .ci/module_map.py`")
        else:
            path.write_text(mapped(path))
    return int(check and bool(outdated))


def rooms() -> list[Path]:
    """The `__init__.py` of every package that has modules."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")]
    return sorted(path for path in found if "dashboard" not in path.parts and modules(path))


def modules(init: Path) -> list[Path]:
    """The modules of a room, by name."""
    return sorted(path for path in init.parent.glob("*.py") if path != init)


def mapped(init: Path) -> str:
    """The text of an `__init__.py` with its map."""
    docstring = ast.get_docstring(ast.parse(init.read_text())) or ""
    said = docstring.partition(f"\n{HEADING}\n")[0].strip()
    width = max(len(path.stem) for path in modules(init)) + 2
    lines = [line for path in modules(init) for line in _entry(path, width)]
    return "\n".join(['"""' + said, "", HEADING, *lines, '"""', ""])


def _entry(path: Path, width: int) -> list[str]:
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
    purpose = first.rpartition("; ")[0] or first
    start = "    " + path.stem.ljust(width)
    return textwrap.wrap(
        purpose.rstrip("."), WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_long_words=False
    )


if __name__ == "__main__":
    sys.exit(main())
