"""A script as W&B users have it, which also writes its metric where Podium finds it."""

import argparse
import json
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args, _ = parser.parse_known_args()
if file := os.environ.get("PODIUM_METRICS"):
    with Path(file).open("a") as lines:
        lines.write(json.dumps({"step": 0, "val_loss": args.lr}) + "\n")
