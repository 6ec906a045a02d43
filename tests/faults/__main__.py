"""`python -m tests.faults`: the campaign from the command line; exits 1 unless every promise was kept."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import Outcome, Plan, run, table

INTERRUPTED = 130


def main() -> int:
    """Run the campaign in its own folder, which is kept if it failed."""
    options = _parser().parse_args()
    plan = Plan(options.server_kills, options.trial_kills, options.seed, options.slots, history=options.history)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` and `timeout` end it as Ctrl-C does
    folder = Path(tempfile.mkdtemp(prefix="podium-faults-"))
    try:
        outcome = run(plan, folder, lambda line: print(line, flush=True))
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    _show(outcome, options.json)
    if outcome.passed:
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    print(f"the data directory and the logs are in {folder}", file=sys.stderr)
    return 1


def _show(outcome: Outcome, file: Path | None) -> None:
    print(table(outcome), flush=True)
    if file is not None:
        file.write_text(json.dumps(outcome.to_json(), indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--server-kills", type=int, default=200, help="of parts, of Ray and of the whole service")
    parser.add_argument("--trial-kills", type=int, default=200, help="of trials' processes, meanwhile")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--history", type=int, default=0, help="finished trials that are there before")
    parser.add_argument("--json", type=Path, help="also write the outcome to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
