"""What a trial may leave for components to unpickle: `CANARY` in every file and message."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any


class Canary:
    """Unpickling it looks up `canary.sing`."""

    def __reduce__(self) -> tuple[Any, tuple[str, ...]]:
        return importlib.import_module("canary").sing, ("unpickled",)


class PlantedError(ValueError):
    """An exception that is a canary, in case errors are sent as pickles."""

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
