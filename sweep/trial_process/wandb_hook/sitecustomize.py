"""Imported by Python at startup: installs the W&B hook, then imports the user's own `sitecustomize`; script."""

import importlib
import os
import sys


def _install() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 5 ms to import
    path = os.environ.get("PODIUM_METRICS")
    if path:
        hook = importlib.import_module("podium_wandb_hook")
        hook.install(hook.JsonFile(path, os.environ.get("PODIUM_ARTIFACTS")), os.environ.get("PODIUM_OBJECTIVES", "[]"))
    # The program gets the path that it would have without Podium. PYTHONPATH is unchanged, for child processes.
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]  # noqa: PTH100


def _import_shadowed() -> None:
    """Import the `sitecustomize` that this one shadows, if there is one."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_install()
_import_shadowed()
