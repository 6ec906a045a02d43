"""Check the versions in constraints.txt for known vulnerabilities: `audit.py`, run by `make check`.

pip-audit reads the advisories from pypi.org. Prints a line for each vulnerability, and exits with 1 if there are any.
If pypi.org cannot be reached, prints a line that begins with `audit: NOT CHECKED`, and exits with 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONGEST_S = 300
# Vulnerabilities that do not affect Podium, each with the reason.
REVIEWED: dict[str, str] = {}


def main() -> int:
    """Run pip-audit, and print the findings."""
    command = [
        sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"),
        "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        dependencies = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        lines, status = [f"audit: NOT CHECKED: pypi.org did not answer within {LONGEST_S} s"], 0
    except (ValueError, KeyError):
        last = done.stderr.strip().splitlines()[-1:] or ["pip-audit printed no error"]
        lines, status = [f"audit: NOT CHECKED: {last[0]}"], 0
    else:
        lines, status = report_of(dependencies)
    print("\n".join(lines))
    return status


def report_of(dependencies: list[dict[str, Any]], reviewed: Mapping[str, str] = REVIEWED) -> tuple[list[str], int]:
    """The lines to print, and the exit status; `reviewed`: reasons by the id of a vulnerability."""
    checked = [dependency for dependency in dependencies if "skip_reason" not in dependency]
    if not checked:
        why = f": {dependencies[0]['skip_reason']}" if dependencies else ""
        return [f"audit: NOT CHECKED: no advisories are available for any of {len(dependencies)} packages{why}"], 0
    vulnerable = [
        f"audit: {dependency['name']} {dependency['version']}: {_described(found)}"
        for dependency in checked
        for found in dependency["vulns"]
        if found["id"] not in reviewed
    ]
    unknown = [dependency["name"] for dependency in dependencies if "skip_reason" in dependency]
    unchecked = f"; not checked: {', '.join(unknown)}, which pypi.org does not have" if unknown else ""
    return [
        *vulnerable,
        f"audit: {len(vulnerable)} known vulnerabilities in {len(checked)} packages{unchecked}",
    ], 1 if vulnerable else 0


def _described(found: dict[str, Any]) -> str:
    fixed = ", ".join(found["fix_versions"]) or "no version yet"
    return f"{found['id']}, fixed in {fixed}: {' '.join(found.get('description', '').split())[:200]}"


if __name__ == "__main__":
    sys.exit(main())
