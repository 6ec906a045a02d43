"""Trials with curves: quick ones, and ones that run until they are stopped."""

import math
import time
from typing import Any


def quick(trial: Any) -> float:
    """A curve of 20 steps that saturates; the height depends on every parameter."""
    params = trial.params
    height: float = 1 - (math.log10(params["lr"]) + 2.5) ** 2 / 8 - abs(params["width"] - 96) / 400
    height -= 0.05 if params["optimizer"] == "sgd" else 0.0
    for step in range(20):
        trial.report(height * (1 - math.exp(-(step + 1) / 6)), step=step)
        trial.log({"loss": math.exp(-(step + 1) / 6)}, step=step)
    return height


def pictures(trial: Any) -> float:
    """Images over steps, a table, and an SVG file with a script."""
    import numpy as np

    for step in (0, 10, 20):
        trial.log_image("val/samples", np.eye(8) * step / 20, step)
        trial.report(0.5 + step / 100, step=step)
    trial.log_image("once", np.zeros((4, 4, 3), np.uint8), 0)
    (trial.dir / "table.csv").write_text("epoch,loss\n0,0.5\n1,0.25\n")
    (trial.dir / "drawing.svg").write_text("<svg><script>document.title='planted'</script></svg>")
    for name in ("table.csv", "drawing.svg"):
        trial.save_artifact(trial.dir / name)
    return 0.5 + float(trial.params["depth"]) / 10


def going(trial: Any) -> float:
    """Prints a line and reports a point ten times a second, until it is stopped."""
    for step in range(100_000):
        print(f"step {step} of trial {trial.number}", flush=True)
        trial.report(1 - 1 / (step + 2), step=step)
        time.sleep(0.1)
    return 1.0


def planted(trial: Any) -> float:
    """Writes HTML wherever a user may write text."""
    text = trial.params["<b>choice</b>"]
    print(text, flush=True)
    trial.set_user_attr(text, text)
    trial.log({text: 0.5}, step=0)
    trial.report(0.5, step=0)
    if trial.number == 1:
        raise ValueError(text)
    return 0.5


def failing(trial: Any) -> float:
    """Raises an exception for even values of `x`."""
    x = int(trial.params["x"])
    if x % 2 == 0:
        raise ValueError(f"x is {x}, which is even")
    return float(x)


def metrics(trial: Any) -> float:
    """200 metrics and a loss that rises; raises an exception if `x` is 4."""
    x = int(trial.params["x"])
    print(f"starts with x {x}", flush=True)
    for step, loss in enumerate((x / 20, x / 10)):
        trial.log({"val_loss": loss, **{f"layer {n}/norm": n + step for n in range(200)}}, step=step)
    if x == 4:
        raise ValueError("the loss diverged")
    return float(x)
