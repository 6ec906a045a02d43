"""The built-in models, data sets and metrics, and the settings of each model; every process."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from podium.sweep.values.attempt_assignment import Scalar

Task = Literal["classification", "regression"]
Goal = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a built-in model: default, meaning, and bounds or choices."""

    default: Scalar
    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Scalar, ...] = ()
    integer: bool = False

    def invalid_reason(self, value: Scalar) -> str | None:
        """Why `value` is invalid for this setting, or None."""
        if self.choices:
            if value not in self.choices:
                return f"must be one of {', '.join(map(str, self.choices))}; got {value!r}"
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be a number, got {value!r}"
        if self.integer and not float(value).is_integer():
            return f"must be an integer, got {value!r}"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum:g}, got {value!r}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum:g}, got {value!r}"
        return None


TRAINING: Mapping[str, Setting] = {
    "lr": Setting(1e-3, "learning rate", minimum=1e-9, maximum=100.0),
    "optimizer": Setting("adam", "update rule", choices=("adam", "adamw", "sgd")),
    "momentum": Setting(0.0, "momentum of sgd", minimum=0.0, maximum=0.9999),
    "weight_decay": Setting(0.0, "L2 penalty, decoupled in adamw", minimum=0.0, maximum=10.0),
    "batch_size": Setting(64, "rows per step", minimum=1, maximum=65536, integer=True),
    "epochs": Setting(10, "epochs over the training split", minimum=1, maximum=100_000, integer=True),
    "patience": Setting(
        0, "epochs without improvement before stopping; 0 = never", minimum=0, maximum=100_000, integer=True
    ),
}

MODELS: Mapping[str, Mapping[str, Setting]] = {
    "mlp": {
        "hidden": Setting(64, "units per hidden layer", minimum=1, maximum=65536, integer=True),
        "layers": Setting(1, "hidden layers", minimum=0, maximum=64, integer=True),
        "dropout": Setting(0.0, "dropout probability", minimum=0.0, maximum=0.95),
        "activation": Setting("relu", "nonlinearity", choices=("relu", "gelu", "tanh")),
    },
    "cnn": {
        "channels": Setting(16, "channels of the first block, doubled in each", minimum=1, maximum=4096, integer=True),
        "blocks": Setting(2, "convolution blocks, each halves the image", minimum=1, maximum=4, integer=True),
        "hidden": Setting(64, "units of the layer before the output", minimum=1, maximum=65536, integer=True),
        "dropout": Setting(0.0, "dropout probability", minimum=0.0, maximum=0.95),
    },
}  # fmt: skip

DATASETS: Mapping[str, str] = {
    "diabetes": "442 patients, 10 measurements each, target: disease progression; ships with scikit-learn",
    "digits": "1,797 handwritten digits of 8 x 8 pixels; ships with scikit-learn",
    "fashion-mnist": "70,000 images of clothes, 28 x 28; IDX files in `root`",
    "mnist": "70,000 handwritten digits, 28 x 28; IDX files in `root`",
}
NEEDS_ROOT = frozenset({"fashion-mnist", "mnist"})
TABLES = frozenset({"diabetes"})  # tabular data; the others are images
_REGRESSION = frozenset({"diabetes"})

# The metrics of the built-in fit loop, computed on the validation split in every epoch, and their goals.
METRICS: Mapping[Task, Mapping[str, Goal]] = {
    "classification": {"val_accuracy": "maximize", "val_loss": "minimize"},
    "regression": {"val_rmse": "minimize", "val_mae": "minimize", "val_loss": "minimize"},
}


def task_of(data: str) -> Task:
    """The task of a built-in data set."""
    return "regression" if data in _REGRESSION else "classification"


def settings_of(model: str) -> dict[str, Setting]:
    """All settings that a sweep over `model` may use as parameters."""
    return {**TRAINING, **MODELS[model]}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'lr'?`, or the list of known names."""
    names = sorted(set(known))  # alternatives of a block share keys
    if not names:
        return "none are defined"
    same = [known_name for known_name in names if known_name.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
