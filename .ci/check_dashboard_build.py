"""Check that the committed build of the dashboard matches its sources, and that its first page is small.

Run by `make dashboard-check`, with npm's packages and Podium itself installed. The types, from the OpenAPI document,
and the build are generated again in a temporary folder and compared byte for byte. Exits with 1 and prints one line for
each difference; otherwise prints the compressed size of the first page, and what each other part loads in addition.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "api" / "dashboard"
STATIC = ROOT / "api" / "static"
BUDGET_KB = 200  # of the first page
MANIFEST = Path(".vite") / "manifest.json"
_ENTRY = "index.html"
_FIRST = ("src/pages/sweeps.tsx", "src/pages/login.tsx")  # counted even if they are parts of their own

Manifest = Mapping[str, Any]


def main() -> int:
    """Generate everything again, compare, and check the size."""
    with tempfile.TemporaryDirectory(prefix="podium-dashboard.") as folder:
        complaints = [*check_types(Path(folder)), *check_build(Path(folder) / "static"), *check_size(STATIC)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        print("run `make dashboard` to build them again", file=sys.stderr)
        return 1
    manifest = json.loads((STATIC / MANIFEST).read_text())
    print(
        f"types and build match; the first page has {first_page_kb(STATIC, manifest):.0f} of {BUDGET_KB} kB, compressed"
    )
    for name, size in parts_kb(STATIC, manifest).items():
        print(f"{size:7.1f} kB more for {name}")
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
    """Check the size of the first page, compressed."""
    if not (folder / MANIFEST).is_file():
        return [f"{folder.name}/{MANIFEST} is missing, which lists what each page loads"]
    size = first_page_kb(folder, json.loads((folder / MANIFEST).read_text()))
    return [] if size <= BUDGET_KB else [f"the first page has {size:.0f} kB, compressed; the limit is {BUDGET_KB} kB"]


def first_page_kb(folder: Path, manifest: Manifest) -> float:
    """The compressed size of all files that the first page loads: the list of sweeps, or the login."""
    return compressed_kb(folder, {_ENTRY} | loaded(manifest, first_chunks(manifest)))


def parts_kb(folder: Path, manifest: Manifest) -> dict[str, float]:
    """The compressed size of what each part loads after the first page, the largest part first."""
    first = loaded(manifest, first_chunks(manifest))
    parts = [name for name, chunk in manifest.items() if chunk.get("isDynamicEntry") and name not in _FIRST]
    sizes = {name: compressed_kb(folder, loaded(manifest, [name]) - first) for name in parts}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def first_chunks(manifest: Manifest) -> list[str]:
    return [_ENTRY, *(name for name in _FIRST if name in manifest)]


def loaded(manifest: Manifest, chunks: Iterable[str]) -> set[str]:
    """The files of these chunks and of all chunks that they import statically, with their styles."""
    names, waiting = set[str](), list(chunks)
    while waiting:
        if (name := waiting.pop()) not in names:
            names.add(name)
            waiting += manifest[name].get("imports", [])
    return {file for name in names for file in (manifest[name]["file"], *manifest[name].get("css", []))}


def compressed_kb(folder: Path, names: Iterable[str]) -> float:
    return sum(len(gzip.compress((folder / name).read_bytes())) for name in names) / 1000


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
