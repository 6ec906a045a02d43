"""The paths in the folder of an attempt; slots, trials, node agents, and readers of what trials have saved."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WANDB_PARAMETERS = "wandb-parameters.yaml"  # in `temporary`, for `wandb.init`
ARTIFACTS = "artifacts"  # folder of an attempt, and prefix of the names of its files
_ATTEMPT = re.compile(r"([1-9][0-9]*)(-[0-9a-f]{8})?")  # the name of the folder of an attempt; group 1: its number


def attempt_of_folder(name: str) -> tuple[int, str]:
    """Number and nonce of the attempt whose folder has this name; (0, "") if it is the folder of none."""
    match = _ATTEMPT.fullmatch(name)
    return (0, "") if match is None else (int(match[1]), match[0].partition("-")[2])


def _create(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


@dataclass(frozen=True, slots=True)
class AttemptDirectory:
    """The paths in the folder of an attempt, as one of its ranks sees them; most attempts have rank 0 only."""

    root: Path
    rank: int = 0

    @property
    def log(self) -> Path:
        return self._of_rank("log")

    @property
    def work(self) -> Path:
        """The working directory of the process, removed after it has ended."""
        return self._of_rank("work")

    @property
    def temporary(self) -> Path:
        """TMPDIR of the process, removed after it has ended."""
        return self._of_rank("tmp")

    @property
    def shared(self) -> Path:
        """A folder for all ranks on a machine: that of rank 0, removed after it has ended."""
        return self.root / "work"

    def leftovers(self) -> list[Path]:
        """The folders of all ranks that are removed after they have ended."""
        return [path for name in ("work", "tmp") for path in (self.root / name, *self.root.glob(f"{name}-*"))]

    def _of_rank(self, name: str) -> Path:
        return self.root / (f"{name}-{self.rank}" if self.rank else name)

    @property
    def model(self) -> Path:
        return self.root / "model.safetensors"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint.safetensors"

    @property
    def checkpoint_folders(self) -> Path:
        """Checkpoints that are folders, by number; see `podium.sweep.trial_process.directory_checkpoints`."""
        return self.root / "checkpoints"

    @property
    def start(self) -> AttemptDirectory:
        """On a node: a copy of the checkpoint that an interval of a population starts from, in the same form."""
        return AttemptDirectory(self.root / "start")

    @property
    def artifacts(self) -> Path:
        """The files saved with `save_artifact`, by name."""
        return self.root / ARTIFACTS

    @property
    def predictions(self) -> Path:
        return self.root / "predictions.safetensors"

    def earlier(self, attempt: int, first: int = 1) -> list[AttemptDirectory]:
        """The existing folders of the earlier attempts of the trial, newest first; `attempt` is the number of this one,
        and `first` that of the first one to return.

        Several have the same number if a backup of the database was restored; they are ordered by modification time.
        """
        found: list[tuple[int, int, str]] = []
        if attempt <= first:
            return []
        try:
            with os.scandir(self.root.parent) as entries:
                for entry in entries:
                    match = _ATTEMPT.fullmatch(entry.name)
                    if match and first <= int(match[1]) < attempt:
                        found.append((int(match[1]), entry.stat().st_mtime_ns, entry.path))
        except OSError:  # the attempt starts without a checkpoint
            return []
        return [AttemptDirectory(Path(path)) for _, _, path in sorted(found, reverse=True)]

    def prepare(self, place: Callable[[Path], None] = _create) -> None:
        """Create the folders of an attempt. `place` creates an empty one."""
        self.root.mkdir(parents=True, exist_ok=True)
        for folder in (self.work, self.temporary):
            place(folder)
