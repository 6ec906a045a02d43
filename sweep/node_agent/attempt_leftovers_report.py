"""What attempts that are over have left on a node although it was to be removed; node agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from podium.sweep.file_store import validated_file_keys
from podium.sweep.protocol.node_reports import MAX_LEFT, process_in
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.processes_using_attempt_directory import attempt_processes
from podium.sweep.values.errors import BadRequestError


class Left(NamedTuple):
    """As a `NodeReport` has it."""

    folders: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()


class LeftoverFiles:
    """Folders and processes that two searches in a row have found: an attempt that has just ended is not reported."""

    def __init__(self, data: DataDirectory) -> None:
        self._data = data
        self._found: set[str] = set()  # by the last search
        self.left = Left()

    def processes(self) -> dict[int, str]:
        """The processes of this node that use the folder of an attempt, with the key of that folder."""
        prefix = self._data.relative(self._data.trials)
        found = {pid: f"{prefix}/{key}" for pid, key in attempt_processes(self._data.trials)}
        return {pid: folder for pid, folder in found.items() if _is_attempt(folder)}

    def record(self, over: Collection[str], used_trials: Collection[str], processes: Mapping[int, str]) -> None:
        """A search has ended.

        Args:
            over: The keys of the folders whose attempts are over for the head.
            used_trials: The keys of the folders of trials with another attempt here, which may read them.
            processes: Those of `processes`.
        """
        folders = [
            each
            for each in sorted(over)
            if str(Path(each).parent) not in used_trials and (self._data.root / each).exists()
        ]
        texts = [process_in(pid, folder) for pid, folder in sorted(processes.items()) if folder in over]
        self.left = Left(
            tuple(each for each in folders if each in self._found)[:MAX_LEFT],
            tuple(each for each in texts if each in self._found)[:MAX_LEFT],
        )
        self._found = {*folders, *texts}


def _is_attempt(folder: str) -> bool:
    try:
        validated_file_keys.attempt_folder(f"{folder}/log")
    except BadRequestError:
        return False
    return True
