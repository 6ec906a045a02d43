"""User trials without a service: code in a bundle's folder, a trial in the test process, and its files."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from podium.ensemble.values.member_candidate import TrialFiles
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.states import TrialState

NETS = Path(__file__).parent / "user_nets"
CPU = torch.device("cpu")


class UserRig:
    """One data directory; its trials are those of sweep 1."""

    def __init__(self, folder: Path, device: torch.device = CPU) -> None:
        self.data = DataDirectory(folder / "data")
        self.data.prepare()
        self._device = device
        self.said: dict[int, list[dict[str, Any]]] = {}
        self._trials: dict[int, Assignment] = {}
        self._open: list[socket.socket] = []

    def bundle(self, *sources: Path, **modules: str) -> str:
        """Store code as if it had been uploaded: folders unchanged, or modules by name; returns its hash."""
        name = hashlib.sha256(repr((sources, modules)).encode()).hexdigest()
        folder = self.data.bundle(name)
        folder.mkdir(exist_ok=True)
        for source in sources:
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        return name

    def module(self, bundle: str, name: str) -> ModuleType:
        """A module of the bundle, as its trial's process would have imported it."""
        for known in [known for known, module in sys.modules.items() if self._is_ours(module)]:
            del sys.modules[known]
        folder = str(self.data.bundle(bundle))
        sys.path[:] = [folder, *(path for path in sys.path if not path.startswith(str(self.data.bundles)))]
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def key(self, number: int) -> str:
        """The folder of the attempt of a trial, relative to `DataDirectory.trials`."""
        return DataDirectory.attempt_key(1, number, 1, "0123abcd")

    def attempt(self, number: int) -> AttemptDirectory:
        return AttemptDirectory(self.data.trials / self.key(number))

    def trial(self, bundle: str, params: Mapping[str, Any], *, number: int = 0, **program: Any) -> Trial:
        """A trial whose function may be called; its attempt has a folder."""
        directory = self.attempt(number)
        directory.prepare()
        assignment = Assignment(
            sweep_id=1, trial_id=number + 1, number=number, attempt=1, params=dict(params), seed=number,
            metric="score", program={"function": "nets:objective", "bundle": bundle, **program},
            split={"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}, directory=str(directory.root),
            data_cache=str(self.data.data_cache), code=str(self.data.bundle(bundle)),
        )  # fmt: skip
        ours, theirs = socket.socketpair()
        self._open += [ours, theirs]
        self._trials[number] = assignment
        return Trial(assignment, Channel(ours), self._device)

    def finished(self, bundle: str, params: Mapping[str, Any], number: int, value: float = 0.5) -> ModelFile:
        """Run the objective of `nets`; its model file as a worker receives it."""
        torch.manual_seed(number)
        module = self.module(bundle, "nets")
        module.objective(self.trial(bundle, params, number=number))
        return self.file(number)

    def file(self, number: int) -> ModelFile:
        path = self.attempt(number).model
        return ModelFile(str(path), sha256_of(path), 0, str(self.data.root))

    def files(self, number: int, value: float = 0.5) -> TrialFiles:
        """The trial as the database has it."""
        directory = self.attempt(number)
        left = directory.predictions.exists()
        return TrialFiles(
            number + 1, number, 1, TrialState.FINISHED, value, "maximize", self.key(number),
            sha256_of(directory.model), self.key(number) if left else None,
        )  # fmt: skip

    def header(self, number: int) -> dict[str, Any]:
        """The header of the model file."""
        from safetensors import safe_open

        with safe_open(self.attempt(number).model, framework="numpy") as file:
            found: dict[str, Any] = json.loads((file.metadata() or {})["user_network"])
            return found

    def close(self) -> None:
        for connection in self._open:
            connection.close()
        self.forget()

    def forget(self) -> None:
        """Forget modules imported from bundles, as in a new process."""
        sys.path[:] = [path for path in sys.path if not path.startswith(str(self.data.bundles))]
        for name in [name for name, module in sys.modules.items() if self._is_ours(module)]:
            del sys.modules[name]

    def _is_ours(self, module: ModuleType | None) -> bool:
        return (getattr(module, "__file__", None) or "").startswith(str(self.data.bundles))
