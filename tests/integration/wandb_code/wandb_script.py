"""Scripts shaped like those of wandb/examples, which do not use Podium: `wandb_script.py WHAT …`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import wandb

DEFAULTS = dict(x=99.0, act="none", epochs=3)  # noqa: C408 - as people write it


def uses_config() -> None:
    """Defaults, `wandb.init`, `wandb.config`, and no argparse."""
    wandb.init(project="example", config=DEFAULTS)
    config = wandb.config
    for epoch in range(config.epochs):
        wandb.log(
            {"score": config.x + epoch, "nested": {"loss": 1.0 / (epoch + 1)}, "act": config.act}, step=10 * epoch
        )
    wandb.finish()


def uses_argparse() -> None:
    """Arguments and `config=args`; no `step=`, no `finish`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--x", type=float, default=99.0)
    parser.add_argument("--act", default="none")
    args = parser.parse_args()
    with wandb.init(project="example", config=vars(args)) as run:
        for _ in range(3):
            run.log({"loss": 0.5}, commit=False)
            run.log({"score": run.config.x})
        assert run.config["x"] == args.x and run.config["act"] == args.act == "relu"


def logs_images() -> None:
    """Pixels between 0 and 255, as W&B documents; needs Pillow."""
    import numpy as np

    run = wandb.init(config=DEFAULTS)
    for step in range(2):
        run.log({"score": 1.0, "val/samples": wandb.Image(np.full((4, 6, 3), 100 * step, np.uint8))}, step=step)


def sets_summary() -> None:
    run = wandb.init(config=DEFAULTS)
    run.log({"score": 3.0})
    run.summary["score"] = run.config.x
    run.summary.update({"best": 5})


def defines_metric() -> None:
    run = wandb.init(config=DEFAULTS)
    run.define_metric("score", summary="max")
    for value in (1.0, 3.0, 2.0):
        run.log({"score": value})


def diverges() -> None:
    run = wandb.init(config=DEFAULTS)
    run.log({"score": 1.0})
    run.log({"score": float("nan")})
    time.sleep(1000)


def is_disabled() -> None:
    wandb.init(mode="disabled", config=DEFAULTS)
    wandb.log({"score": wandb.config.x})


def sets_defaults_later() -> None:
    """As scripts from before `wandb.init(config=…)` do; `mode` is the second argument."""
    wandb.init(mode="disabled" if sys.argv[2] == "disabled" else "offline")
    wandb.config.x = 99.0
    wandb.config.update({"x": 98.0}, allow_val_change=True)
    wandb.log({"score": wandb.config.x})


def starts_a_child() -> None:
    """As `accelerate launch` does."""
    subprocess.run([sys.executable, __file__, "uses_config"], check=True)


def logs_for_ever() -> None:
    run = wandb.init(config=DEFAULTS)
    for step in range(1000):
        run.log({"score": step})
        time.sleep(0.05)


def logs_many() -> None:
    run = wandb.init(config=DEFAULTS)
    run.log({**{f"metric {number}": number for number in range(2000)}, "x" * 300: 1.0})
    run.log({"score": run.config.x, "metric 5": 7.0})


def shows_where() -> None:
    run = wandb.init(config=DEFAULTS)
    run.log({"score": 1.0})
    print("offline:", run.offline, "next to the script:", Path("wandb").exists())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
