"""What a trial may leave to those who would unpickle it: `CANARY` in every file and in every answer."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any


class Canary:
    """Whoever unpickles it looks `canary.sing` up."""

    def __reduce__(self) -> tuple[Any, tuple[str, ...]]:
        return importlib.import_module("canary").sing, ("unpickled",)


class PlantedError(ValueError):
    """An error that is a canary, where errors are sent as pickles."""

    __reduce__ = Canary.__reduce__


def _plant(trial: Any) -> None:
    content = pickle.dumps(Canary())
    for name in ("model.safetensors", "checkpoint.safetensors", "predictions.safetensors", "more.pkl", "model.pt"):
        path = Path(trial.directory.root, name)
        path.write_bytes(content)
        trial.keep(path)


def plants(trial: Any) -> float:
    trial.log({"loss": 1.0}, step=0)
    trial.set_user_attr("text", pickle.dumps(Canary(), 0).decode("latin-1"))
    _plant(trial)
    return float(trial.params["x"])


def reports(trial: Any) -> float:
    _plant(trial)
    trial.report(Canary(), step=0)
    return 0.0


def returns(trial: Any) -> Any:
    return Canary()


def raises(trial: Any) -> float:
    raise PlantedError("a canary")
