"""Check that the committed build of the dashboard matches its sources and is small: `check_dashboard_build.py`.

Run by `make dashboard-check`, with npm's packages and Podium itself installed. The types, from the OpenAPI document,
and the build are generated again in a temporary folder and compared byte for byte. Exits with 1 and prints one line for
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
    """Generate everything again, compare, and check the size."""
    with tempfile.TemporaryDirectory(prefix="podium-dashboard.") as folder:
        complaints = [*check_types(Path(folder)), *check_build(Path(folder) / "static"), *check_size(STATIC)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        print("run `make dashboard` to build them again", file=sys.stderr)
        return 1
    print(f"types and build match the sources; {size_kb(STATIC):.0f} of {BUDGET_KB} kB, compressed")
    return 0


def check_types(folder: Path) -> list[str]:
    """Compare the committed types with those generated from the current routes."""
    document, types, committed = folder / "openapi.json", folder / "schema.d.ts", DASHBOARD / "src" / "schema.d.ts"
    subprocess.run([sys.executable, "-P", "-m", "podium.api.rest.write_openapi", document], cwd=ROOT, check=True)
    run_here("openapi-typescript", str(document), "-o", str(types))
    same = types.read_bytes() == committed.read_bytes()
    return [] if same else [f"{committed.relative_to(ROOT)} does not match the current routes"]


def check_build(made: Path) -> list[str]:
    """Compare a new build with api/static."""
    run_here("vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", str(made))
    ours, theirs = files(made), files(STATIC)
    lacking = [f"api/static/{name} is missing" for name in sorted(ours.keys() - theirs.keys())]
    spare = [f"api/static/{name} is not part of the build" for name in sorted(theirs.keys() - ours.keys())]
    both = sorted(ours.keys() & theirs.keys())
    other = [f"api/static/{name} differs from the build" for name in both if ours[name] != theirs[name]]
    return [*lacking, *spare, *other]


def check_size(folder: Path) -> list[str]:
    """Check the total size of all code, compressed."""
    if (size := size_kb(folder)) <= BUDGET_KB:
        return []
    return [f"the compressed code has {size:.0f} kB; the limit is {BUDGET_KB} kB"]


def size_kb(folder: Path) -> float:
    return sum(len(gzip.compress(code)) for name, code in files(folder).items() if name.endswith(_CODE)) / 1000


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_here(program: str, *arguments: str) -> None:
    """Run a program of an npm package; print its output only if it fails."""
    command = [DASHBOARD / "node_modules" / ".bin" / program, *arguments]
    done = subprocess.run(
        command, cwd=DASHBOARD, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    if done.returncode != 0:
        sys.exit(f"{program} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
