"""Ask which known weaknesses the versions in constraints.txt have: `audit.py`, run by `make check`.

The advisories come from pypi.org, by pip-audit. Exit 1 with a line for each weakness. Where nobody can be asked, as on
a machine without the network, it says so and is no failure: a line that begins with `audit: NOT ASKED`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONGEST_S = 300
# Weaknesses that were looked at and do not concern Podium, each with the reason why.
REVIEWED: dict[str, str] = {}


def main() -> int:
    """Ask, and say what came of it."""
    command = [
        sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"),
        "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        dependencies = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        lines, status = [f"audit: NOT ASKED: pypi.org did not answer within {LONGEST_S} s"], 0
    except (ValueError, KeyError):
        last = done.stderr.strip().splitlines()[-1:] or ["pip-audit said nothing"]
        lines, status = [f"audit: NOT ASKED: {last[0]}"], 0
    else:
        lines, status = judged(dependencies)
    print("\n".join(lines))
    return status


def judged(dependencies: list[dict[str, Any]]) -> tuple[list[str], int]:
    """What to say of the answer, and the exit status."""
    asked = [dependency for dependency in dependencies if "skip_reason" not in dependency]
    if not asked:
        why = f": {dependencies[0]['skip_reason']}" if dependencies else ""
        return [f"audit: NOT ASKED: no advisories were to be had for any of {len(dependencies)} packages{why}"], 0
    weak = [
        f"audit: {dependency['name']} {dependency['version']}: {_said(found)}"
        for dependency in asked
        for found in dependency["vulns"]
        if found["id"] not in REVIEWED
    ]
    unknown = [dependency["name"] for dependency in dependencies if "skip_reason" in dependency]
    beside = f"; not asked about {', '.join(unknown)}, which pypi.org does not have" if unknown else ""
    return [*weak, f"audit: {len(weak)} known weaknesses in {len(asked)} packages{beside}"], 1 if weak else 0


def _said(found: dict[str, Any]) -> str:
    mended = ", ".join(found["fix_versions"]) or "no version yet"
    return f"{found['id']}, mended in {mended}: {' '.join(found.get('description', '').split())[:200]}"


if __name__ == "__main__":
    sys.exit(main())
