"""`python -m tests.faults`: the campaign from the command line; exits 1 unless every promise was kept."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.cluster.machines import unavailable_reason
from tests.faults import campaign, node_campaign, postgres_campaign, standby_campaign
from tests.faults.campaign import Plan
from tests.faults.node_campaign import NodePlan
from tests.faults.postgres_campaign import PostgresPlan
from tests.faults.standby_campaign import StandbyPlan

INTERRUPTED = 130


def main() -> int:
    """Run the campaign in its own folder, which is kept if it failed."""
    options = _parser().parse_args()
    on_machines = options.nodes or options.standby
    if on_machines and (reason := unavailable_reason()):
        print(f"--nodes and --standby need machines made of namespaces: {reason}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` and `timeout` end it as Ctrl-C does
    folder = Path(tempfile.mkdtemp(prefix="f-" if on_machines else "podium-faults-"))
    try:
        passed = _run(options, folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if passed:
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    print(f"the data directory and the logs are in {folder}", file=sys.stderr)
    return 1


def _run(options: argparse.Namespace, folder: Path) -> bool:
    """Run one of the campaigns and show its outcome; whether it passed."""
    if options.nodes:
        of_nodes = NodePlan(options.faults, options.nodes, options.seed)
        outcome = node_campaign.run(of_nodes, folder, _say)
        _show(node_campaign.table(outcome), outcome.to_json(), options.json)
        return outcome.passed
    if options.postgres:
        on_postgres = postgres_campaign.run(PostgresPlan(options.faults, options.seed, options.slots), folder, _say)
        _show(postgres_campaign.table(on_postgres), on_postgres.to_json(), options.json)
        return on_postgres.passed
    if options.standby:
        of_standby = StandbyPlan(options.faults, options.seed)
        succeeded = standby_campaign.run(of_standby, folder, _say)
        _show(standby_campaign.table(succeeded), succeeded.to_json(), options.json)
        return succeeded.passed
    plan = Plan(options.server_kills, options.trial_kills, options.seed, options.slots, history=options.history)
    found = campaign.run(plan, folder, _say)
    _show(campaign.table(found), found.to_json(), options.json)
    return found.passed


def _say(line: str) -> None:
    print(line, flush=True)


def _show(table: str, outcome: dict[str, Any], file: Path | None) -> None:
    print(table, flush=True)
    if file is not None:
        file.write_text(json.dumps(outcome, indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--server-kills", type=int, default=200, help="of parts, of Ray and of the whole service")
    parser.add_argument("--trial-kills", type=int, default=200, help="of trials' processes, meanwhile")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--history", type=int, default=0, help="finished trials that are there before")
    parser.add_argument("--nodes", type=int, default=0, help="instead: faults of this many nodes of a cluster")
    parser.add_argument("--postgres", action="store_true", help="instead: faults of the server of the database")
    parser.add_argument("--standby", action="store_true", help="instead: takeovers by a standby, on PostgreSQL")
    parser.add_argument("--faults", type=int, default=100, help="of nodes, the server or leaders")
    parser.add_argument("--json", type=Path, help="also write the outcome to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
