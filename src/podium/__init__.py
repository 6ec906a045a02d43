"""Podium: hyperparameter sweeps and ensembles, one neural network per device.

The public interface for scripts, notebooks and trials; runs in the user's process. Names are imported on first use, so
that `import podium` is fast. The modules of `podium.api.client` whose names end in `_responses`, and
`readiness_responses`, have the types of what the service returns. `podium.parallel`
trains one network by several processes.
"""

from __future__ import annotations

import importlib
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from podium.api.client.client import Client as Client
    from podium.api.client.notebook_objects import Ensemble as Ensemble
    from podium.api.client.notebook_objects import Sweep as Sweep
    from podium.api.client.notebook_objects import Trial as Trial
    from podium.sweep.trial_process.lightning_callback import PodiumCallback as PodiumCallback
    from podium.sweep.values.errors import BadRequestError as BadRequestError
    from podium.sweep.values.errors import ConflictError as ConflictError
    from podium.sweep.values.errors import EnsembleError as EnsembleError
    from podium.sweep.values.errors import ForbiddenError as ForbiddenError
    from podium.sweep.values.errors import InvalidSpecError as InvalidSpecError
    from podium.sweep.values.errors import MissingExtraError as MissingExtraError
    from podium.sweep.values.errors import NotFoundError as NotFoundError
    from podium.sweep.values.errors import PodiumError as PodiumError
    from podium.sweep.values.errors import ServiceError as ServiceError
    from podium.sweep.values.errors import UnauthorizedError as UnauthorizedError

    __version__: str

_ERRORS = "podium.sweep.values.errors"
_MODULES = {
    "Client": "podium.api.client.client",
    "Ensemble": "podium.api.client.notebook_objects",
    "PodiumCallback": "podium.sweep.trial_process.lightning_callback",
    "Sweep": "podium.api.client.notebook_objects",
    "Trial": "podium.api.client.notebook_objects",
    "BadRequestError": _ERRORS,
    "ConflictError": _ERRORS,
    "EnsembleError": _ERRORS,
    "ForbiddenError": _ERRORS,
    "InvalidSpecError": _ERRORS,
    "MissingExtraError": _ERRORS,
    "NotFoundError": _ERRORS,
    "PodiumError": _ERRORS,
    "ServiceError": _ERRORS,
    "UnauthorizedError": _ERRORS,
}
__all__ = [  # noqa: RUF022 - functions, classes, errors
    "open_sweep",
    "submit",
    "Client",
    "Sweep",
    "Trial",
    "Ensemble",
    "PodiumCallback",
    "BadRequestError",
    "ConflictError",
    "EnsembleError",
    "ForbiddenError",
    "InvalidSpecError",
    "MissingExtraError",
    "NotFoundError",
    "PodiumError",
    "ServiceError",
    "UnauthorizedError",
    "__version__",
]


def submit(
    sweep: Mapping[str, Any] | PathLike[str] | str,
    *,
    after: int | str | Sequence[int | str] = (),
    data_dir: Path | str | None = None,
) -> Sweep:
    """Submit a sweep to the service that runs on `data_dir`.

    `sweep`: the path of a sweep file (YAML, TOML or JSON; also of W&B), or its content as a mapping. The code of
    `program.code` is uploaded. `after`: ids or names of earlier sweeps that must finish first. Raises
    `InvalidSpecError` with the line of each error, and `ServiceError` if no service runs.
    """
    from podium.api.client.client import Client

    client = Client.of(data_dir)
    if isinstance(sweep, str | PathLike):
        submitted = client.submit_file(fspath(sweep), after=after)
    else:
        submitted = client.submit(dict(sweep), after=after)
    return client.open_sweep(submitted["id"])


def open_sweep(sweep_id: int, *, data_dir: Path | str | None = None) -> Sweep:
    """Open a sweep of the service that runs on `data_dir`.

    Raises `NotFoundError` for an unknown id, and `ServiceError` if no service runs.
    """
    from podium.api.client.client import Client

    return Client.of(data_dir).open_sweep(sweep_id)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        found = importlib.import_module("importlib.metadata").version("podium")
    elif name == "parallel":
        found = importlib.import_module("podium.parallel")
    elif name in _MODULES:
        found = getattr(importlib.import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
