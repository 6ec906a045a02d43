"""Check that what is made of the dashboard's sources is what is committed, and small: `check_dashboard.py`.

Run by `make dashboard-check`, with npm's packages and Podium itself installed. The types, from the OpenAPI
document, and the build are made once more in a temporary folder and compared, byte for byte. Exit 1 with one line for
each difference.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "api" / "dashboard"
STATIC = ROOT / "api" / "static"
BUDGET_KB = 200
_CODE = (".js", ".css", ".html")


def main() -> int:
    """Make it all again, compare, and weigh it."""
    with tempfile.TemporaryDirectory(prefix="podium-dashboard.") as folder:
        complaints = [*check_types(Path(folder)), *check_build(Path(folder) / "static"), *check_size(STATIC)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        print("`make dashboard` makes them anew", file=sys.stderr)
        return 1
    print(f"types and build are those of the sources; {size_kb(STATIC):.0f} of {BUDGET_KB} kB, compressed")
    return 0


def check_types(folder: Path) -> list[str]:
    """The types that the routes of today give, against those committed."""
    document, types, committed = folder / "openapi.json", folder / "schema.d.ts", DASHBOARD / "src" / "schema.d.ts"
    subprocess.run([sys.executable, "-P", "-m", "podium.api.rest.openapi", document], cwd=ROOT, check=True)
    run_here("openapi-typescript", str(document), "-o", str(types))
    same = types.read_bytes() == committed.read_bytes()
    return [] if same else [f"{committed.relative_to(ROOT)} is not what the routes of today give"]


def check_build(made: Path) -> list[str]:
    """A new build, against api/static."""
    run_here("vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", str(made))
    ours, theirs = files(made), files(STATIC)
    lacking = [f"api/static/{name} is not there" for name in sorted(ours.keys() - theirs.keys())]
    spare = [f"api/static/{name} is of no source" for name in sorted(theirs.keys() - ours.keys())]
    other = [
        f"api/static/{name} is another" for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]
    ]
    return [*lacking, *spare, *other]


def check_size(folder: Path) -> list[str]:
    """All code of the pages together, as it travels."""
    if (size := size_kb(folder)) <= BUDGET_KB:
        return []
    return [f"the pages' code is {size:.0f} kB compressed, and may be {BUDGET_KB}"]


def size_kb(folder: Path) -> float:
    return sum(len(gzip.compress(code)) for name, code in files(folder).items() if name.endswith(_CODE)) / 1000


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_here(program: str, *arguments: str) -> None:
    """A program of npm's packages, quietly unless it fails."""
    command = [DASHBOARD / "node_modules" / ".bin" / program, *arguments]
    done = subprocess.run(
        command, cwd=DASHBOARD, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    if done.returncode != 0:
        sys.exit(f"{program} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
