"""`python -m tests.fuzz`: the campaign from the command line; exits 1 if a response does not match the document."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import run

INTERRUPTED = 130


def main() -> int:
    """Fuzz a new service; the output of schemathesis is kept in the folder if something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="requests to send, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the outcome to this file")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="podium-fuzz-"))
    try:
        outcome = run(options.cases, options.seed, folder, lambda line: print(line, flush=True))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    text = json.dumps(outcome.to_json(), indent=2)
    print(text, flush=True)
    if options.json is not None:
        options.json.write_text(text + "\n")
    if outcome.passed:
        return 0
    (folder / "schemathesis.log").write_text("\n".join(outcome.log))
    print(f"how to repeat each is in {folder / 'schemathesis.log'}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
