"""Model files of members on a node: fetched once, checked, with the code of users' networks, and few are kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from podium.ensemble.node_members.model_file_cache import MemberFiles
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import EnsembleError

PATIENCE_S = 30.0
ARCHITECTURE = (
    '{"task": "classification", "labels": ["a", "b"], "image": [4], "data": {"name": "digits"},'
    ' "split": {"seed": 0, "split": [0.7, 0.1, 0.1, 0.1]}}'
)


class Store:
    """Has what the test has written to its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent: list[str] = []
        self.waits: dict[str, threading.Event] = {}  # for these, before a file is sent

    def model(self, name: str, seed: int) -> ModelFile:
        content = save({"w": np.full(1000, seed, np.float32)}, {"architecture": ARCHITECTURE})
        (self.folder / name).write_bytes(content)
        return ModelFile(name, hashlib.sha256(content).hexdigest(), 0)

    def get(self, key: str, path: Path) -> None:
        self.sent.append(key)
        if key in self.waits:
            assert self.waits[key].wait(PATIENCE_S)
        shutil.copy(self.folder / key, path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "head").mkdir()
    return Store(tmp_path / "head")


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "node")
    made.prepare()
    return made


def test_file_is_fetched_once(store: Store, data: DataDirectory) -> None:
    files = MemberFiles(store.get, data, lambda _: None)
    wanted = store.model("one", 1)
    fetched = files.fetch(wanted)
    assert Path(fetched.path).read_bytes() == (store.folder / "one").read_bytes()
    assert (fetched.data_dir, fetched.sha256) == (str(data.root), wanted.sha256)
    assert files.fetch(wanted) == fetched
    assert store.sent == ["one"]


def test_file_with_another_hash_is_refused_and_not_kept(store: Store, data: DataDirectory) -> None:
    wanted = store.model("one", 1)
    store.model("one", 2)
    with pytest.raises(EnsembleError, match="one is damaged"):
        MemberFiles(store.get, data, lambda _: None).fetch(wanted)
    assert list(data.models.iterdir()) == []


def test_files_used_least_recently_are_removed(store: Store, data: DataDirectory) -> None:
    files = MemberFiles(store.get, data, lambda _: None, max_kept_bytes=10_000)
    paths = []
    for number in range(4):
        paths.append(Path(files.fetch(store.model(str(number), number)).path))
        os.utime(paths[-1], (number, number))
    assert [path.exists() for path in paths] == [False, True, True, True]


def test_slow_download_delays_only_those_who_need_the_same_file(store: Store, data: DataDirectory) -> None:
    files = MemberFiles(store.get, data, lambda _: None)
    kept, slow, other = (store.model(name, seed) for seed, name in enumerate(("kept", "slow", "other")))
    files.fetch(kept)
    store.waits["slow"] = threading.Event()
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(files.fetch, slow) for _ in range(2)]
        try:
            for file in (kept, other):
                threads.submit(files.fetch, file).result(PATIENCE_S / 2)
            assert not any(each.done() for each in waiting)
        finally:
            store.waits["slow"].set()
        for each in waiting:
            each.result(PATIENCE_S)
    assert sorted(store.sent) == ["kept", "other", "slow"]
