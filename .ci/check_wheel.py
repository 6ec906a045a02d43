"""Check that a wheel contains all files that users need and no others: `check_wheel.py FILE`.

Run by .ci/run. Exits with 1 and prints one line for each problem.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "podium"


def main() -> int:
    """Compare the names in the wheel with the files of the checkout."""
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
    """Every module, and every file of the dashboard's build, which must not be empty."""
    folders = [path.resolve() for path in PACKAGE.iterdir() if path.is_dir()]  # links to the top of the repository
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    build = [path for path in (ROOT / "api" / "static").rglob("*") if path.is_file()]
    found = {f"podium/{path.relative_to(ROOT).as_posix()}" for path in (*modules, *build)}
    found |= {"podium/__init__.py", "podium/api/static/index.html"}
    return {name for name in found if not name.startswith("podium/api/dashboard/")}


if __name__ == "__main__":
    sys.exit(main())
