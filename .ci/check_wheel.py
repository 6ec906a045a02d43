"""Check that a wheel carries all that a user needs, and nothing that only developers do: `check_wheel.py FILE`.

Run by .ci/run. Exit 1 with one line for each thing that does not hold.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "podium"


def main() -> int:
    """Compare the names in it with the files here."""
    names = set(zipfile.ZipFile(sys.argv[1]).namelist())
    complaints = [f"{name} is not in the wheel" for name in sorted(wanted() - names)]
    complaints += [f"{name} is in the wheel" for name in sorted(names) if name.startswith("podium/api/dashboard/")]
    complaints += [
        f"{name} is not below podium/" for name in sorted(names) if not name.startswith(("podium/", "podium-"))
    ]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"{Path(sys.argv[1]).name}: {len(names)} files")
    return 1 if complaints else 0


def wanted() -> set[str]:
    """Every module, and every file of the dashboard's build, of which there must be some."""
    folders = [path.resolve() for path in PACKAGE.iterdir() if path.is_dir()]  # links to the top of the repository
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    build = [path for path in (ROOT / "api" / "static").rglob("*") if path.is_file()]
    found = {f"podium/{path.relative_to(ROOT).as_posix()}" for path in (*modules, *build)}
    found |= {"podium/__init__.py", "podium/api/static/index.html"}
    return {name for name in found if not name.startswith("podium/api/dashboard/")}


if __name__ == "__main__":
    sys.exit(main())
