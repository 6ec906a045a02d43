"""The files that a node fetches for an attempt, and those that it sends, through the node service of a head."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.db.access.tokens import Role
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.node_agent.attempt_leftovers_report import Left
from podium.sweep.node_agent.file_request_server import NodeAgent
from podium.sweep.protocol.node_reports import process_in
from podium.sweep.protocol.slot_to_node_agent_messages import (
    FetchFiles,
    FilesFailed,
    FilesReady,
    RemoveFiles,
    SendFiles,
)
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig, nonce

CHECK_INTERVAL_S = 0.01
OFFSET_S = 12.5


@dataclass
class Node:
    """A node with an agent, and its head."""

    head: ServiceRig
    data: DataDirectory
    agent: NodeAgent

    def assignment(self, sweep_id: int, number: int = 0, attempt: int = 1, **changes: Any) -> Assignment:
        """An attempt as the slot of this node gets it."""
        values: dict[str, Any] = {
            "sweep_id": sweep_id, "trial_id": 1, "number": number, "attempt": attempt, "params": {}, "seed": 0,
            "metric": "score", "program": {"function": "train:good"}, "split": {},
            "directory": str(self.data.attempt(sweep_id, number, attempt, nonce(number, attempt))),
            "data_cache": str(self.data.data_cache),
        }  # fmt: skip
        return Assignment(**{**values, **changes})

    def on_head(self, assignment: Assignment) -> AttemptDirectory:
        """The folder of an attempt on the head."""
        return AttemptDirectory(self.head.data.root / self.data.relative(Path(assignment.directory)))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    head = ServiceRig(tmp_path / "head")
    data = DataDirectory(tmp_path / "node")
    data.prepare()
    store = HeadFileStore(head.client(Role.NODE, head.node_service()), patience_s=0.0)
    agent = NodeAgent(store, data, lambda: OFFSET_S, check_interval_s=CHECK_INTERVAL_S)
    yield Node(head, data, agent)
    agent.close()
    head.close()


def running(node: Node, number: int = 0) -> Assignment:
    """An attempt that runs on this node, whose folder has a log."""
    sweep_id = node.head.sweep()
    node.head.trial(sweep_id, number, None, model=False, device="b:cpu-0")
    assignment = node.assignment(sweep_id, number)
    directory = AttemptDirectory(Path(assignment.directory))
    directory.prepare()
    directory.log.write_text("one\n")
    assert node.agent.handle(FetchFiles(assignment)) == FilesReady(OFFSET_S)
    return assignment


def over(node: Node) -> Assignment:
    """An attempt that is over, whose folder is still here."""
    sweep_id = node.head.sweep()
    node.head.trial(sweep_id, 0, 0.5, model=False, device="b:cpu-0")
    assignment = node.assignment(sweep_id)
    AttemptDirectory(Path(assignment.directory)).prepare()
    return assignment


def eventually(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(CHECK_INTERVAL_S)


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


# Fetched.


def test_code_is_fetched_once_and_unpacked(node: Node) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("train.py", "x = 1\n")
    sha256 = hashlib.sha256(content.getvalue()).hexdigest()
    node.head.data.bundle_archive(sha256).write_bytes(content.getvalue())
    assignment = node.assignment(node.head.sweep(), code=str(node.data.bundle(sha256)))
    assert isinstance(node.agent.handle(FetchFiles(assignment)), FilesReady)
    assert (node.data.bundle(sha256) / "train.py").read_text() == "x = 1\n"
    node.head.data.bundle_archive(sha256).unlink()
    assert isinstance(node.agent.handle(FetchFiles(assignment)), FilesReady), "it is here"


def test_code_with_another_hash_is_refused(node: Node) -> None:
    sha256 = "0" * 64
    node.head.data.bundle_archive(sha256).write_bytes(b"another bundle")
    reply = node.agent.handle(FetchFiles(node.assignment(node.head.sweep(), code=str(node.data.bundle(sha256)))))
    assert reply == FilesFailed(f"the code bundle {sha256} arrived with another content", Cause.INFRASTRUCTURE)
    assert list(node.data.bundles.iterdir()) == []


def test_data_is_prepared_on_the_head(node: Node, tmp_path: Path) -> None:
    file = tmp_path / "rows.npz"
    np.savez(file, x=np.arange(40, dtype=np.float32).reshape(20, 2), y=np.arange(20) % 2)
    source = {"file": str(file), "target": "y"}
    data = {**source, "source": memory_mapped_datasets.source_of(source)}
    sweep_id = node.head.sweep(program={"model": "mlp", "data": data})
    assignment = node.assignment(sweep_id, program={"model": "mlp", "data": data})
    assert isinstance(node.agent.handle(FetchFiles(assignment)), FilesReady)
    file.unlink()
    split = {"split": [0.5, 0.2, 0.2, 0.1], "seed": 0}
    loaded = memory_mapped_datasets.load(data, split, node.data.data_cache)
    np.testing.assert_array_equal(loaded.inputs[3], [6, 7])
    assert loaded.sha256 == memory_mapped_datasets.load(data, split, node.head.data.data_cache).sha256


def test_data_that_cannot_be_read_is_an_error_of_the_user(node: Node, tmp_path: Path) -> None:
    source = {"file": str(tmp_path / "gone.npz"), "target": "y", "source": "0123"}
    sweep_id = node.head.sweep(program={"model": "mlp", "data": source})
    reply = node.agent.handle(FetchFiles(node.assignment(sweep_id, program={"data": source})))
    assert isinstance(reply, FilesFailed) and reply.cause is Cause.USER_ERROR
    assert "gone.npz" in reply.message


def test_newest_checkpoint_of_earlier_attempts_is_fetched(node: Node) -> None:
    sweep_id = node.head.sweep()
    for attempt, content in ((1, "old"), (2, "new"), (3, "")):
        directory = AttemptDirectory(node.head.data.attempt(sweep_id, 0, attempt, nonce(0, attempt)))
        directory.prepare()
        if content:
            directory.checkpoint.write_text(content)
            (directory.checkpoint_folders / "4" / "data").mkdir(parents=True)
            (directory.checkpoint_folders / "4" / "data" / "a file").write_text(content)
            (directory.checkpoint_folders / "4" / "podium.json").write_text("{}")
    assignment = node.assignment(sweep_id, attempt=3)
    assert isinstance(node.agent.handle(FetchFiles(assignment)), FilesReady)
    (found,) = AttemptDirectory(Path(assignment.directory)).earlier(3)
    assert found.checkpoint.read_text() == "new"
    assert (found.checkpoint_folders / "4" / "data" / "a file").read_text() == "new"


def test_incomplete_checkpoint_does_not_hide_an_older_one(node: Node) -> None:
    """The node of attempt 2 was cut off before the file that makes the folder valid had arrived."""
    sweep_id = node.head.sweep()
    first, second = (
        AttemptDirectory(node.head.data.attempt(sweep_id, 0, attempt, nonce(0, attempt))) for attempt in (1, 2)
    )
    first.prepare()
    first.checkpoint.write_text("complete")
    (second.checkpoint_folders / "1" / "data").mkdir(parents=True)
    (second.checkpoint_folders / "1" / "data" / "weights").write_text("incomplete")
    (second.checkpoint_folders / ".2.tmp").mkdir()
    (second.checkpoint_folders / ".2.tmp" / "podium.json").write_text("{}")  # its writer was killed
    assignment = node.assignment(sweep_id, attempt=3)
    assert isinstance(node.agent.handle(FetchFiles(assignment)), FilesReady)
    found = AttemptDirectory(Path(assignment.directory)).earlier(3)
    assert [each.checkpoint.read_text() for each in found] == ["complete"]


def test_code_of_an_earlier_version_is_an_error_of_the_user(node: Node) -> None:
    """It has been stored unpacked only."""
    reply = node.agent.handle(FetchFiles(node.assignment(node.head.sweep(), code=str(node.data.bundle("1" * 64)))))
    assert isinstance(reply, FilesFailed) and reply.cause is Cause.USER_ERROR
    assert "submit the sweep again" in reply.message


# Sent.


def test_log_is_sent_while_the_attempt_runs(node: Node) -> None:
    assignment = running(node)
    there = node.on_head(assignment).log
    eventually(lambda: read(there) == "one\n")
    with AttemptDirectory(Path(assignment.directory)).log.open("a") as file:
        file.write("two\n")
    eventually(lambda: read(there) == "one\ntwo\n")


def test_log_that_was_shortened_replaces_the_one_of_the_head(node: Node) -> None:
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)).log, node.on_head(assignment).log
    eventually(lambda: read(there) == "one\n")
    new = here.with_name("new")
    new.write_text("1\n")
    new.replace(here)
    eventually(lambda: read(there) == "1\n")


def test_checkpoints_are_sent_while_the_attempt_runs(node: Node) -> None:
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)), node.on_head(assignment)
    for content in ("first", "second"):
        new = here.root / ".checkpoint.tmp"
        new.write_text(content)
        new.replace(here.checkpoint)
        eventually(lambda content=content: read(there.checkpoint) == content)  # type: ignore[misc]


def test_newer_folder_of_a_checkpoint_replaces_the_older_one(node: Node) -> None:
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)), node.on_head(assignment)
    for number in (1, 2):
        temporary = here.checkpoint_folders / f".{number}.tmp"
        (temporary / "data").mkdir(parents=True)
        (temporary / "data" / "weights").write_text(str(number))
        (temporary / "podium.json").write_text(json.dumps({"iteration": number, "owner": "x"}))
        temporary.rename(here.checkpoint_folders / str(number))
        eventually((there.checkpoint_folders / str(number) / "podium.json").exists)
    eventually(lambda: not (there.checkpoint_folders / "1").exists())
    assert (there.checkpoint_folders / "2" / "data" / "weights").read_text() == "2"


def test_everything_else_is_sent_at_the_end(node: Node, tmp_path: Path) -> None:
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)), node.on_head(assignment)
    here.artifacts.mkdir()
    (here.artifacts / "plot.png").write_bytes(b"png")
    here.model.write_bytes(b"model")
    here.checkpoint.write_bytes(b"not needed")
    (here.work / "scratch").write_text("scratch")
    (here.root / "link").symlink_to(tmp_path / "elsewhere")
    assert node.agent.handle(SendFiles(assignment, checkpoints=False)) == FilesReady(OFFSET_S)
    assert (there.artifacts / "plot.png").read_bytes() == b"png"
    assert (there.model.read_bytes(), there.log.read_text()) == (b"model", "one\n")
    assert not there.work.exists() and not (there.root / "link").exists()
    assert list(node.data.outbox.iterdir()) == []


def test_agent_that_was_restarted_sends_what_it_never_fetched(node: Node) -> None:
    assignment = running(node)
    AttemptDirectory(Path(assignment.directory)).model.write_bytes(b"model")
    store = HeadFileStore(node.head.client(Role.NODE, node.head.node_service()), patience_s=0.0)
    restarted = NodeAgent(store, node.data, lambda: 0.0, check_interval_s=CHECK_INTERVAL_S)
    assert isinstance(restarted.handle(SendFiles(assignment, checkpoints=True)), FilesReady)
    assert node.on_head(assignment).model.read_bytes() == b"model"
    restarted.close()


def test_recorded_end_removes_the_folder_and_checkpoints(node: Node) -> None:
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)), node.on_head(assignment)
    here.checkpoint.write_bytes(b"checkpoint")
    here.model.write_bytes(b"model")
    node.agent.handle(SendFiles(assignment, checkpoints=True))
    assert there.checkpoint.exists() and node.agent.waiting == 1
    node.agent.handle(RemoveFiles(assignment, checkpoints=True))
    assert not here.root.exists() and node.agent.waiting == 0
    assert not there.checkpoint.exists() and there.model.exists()


def test_attempt_that_is_over_for_the_head_sends_nothing(node: Node) -> None:
    sweep_id = node.head.sweep()
    node.head.trial(sweep_id, 0, 0.5, model=False, device="b:cpu-0")
    assignment = node.assignment(sweep_id)
    here = AttemptDirectory(Path(assignment.directory))
    here.prepare()
    here.model.write_bytes(b"late")
    assert isinstance(node.agent.handle(SendFiles(assignment, checkpoints=True)), FilesReady)
    assert not node.on_head(assignment).model.exists()


def test_head_that_does_not_answer_is_an_error_of_the_infrastructure(node: Node) -> None:
    assignment = node.assignment(node.head.sweep(), number=7)  # which no scheduler has recorded
    here = AttemptDirectory(Path(assignment.directory))
    here.prepare()
    here.model.write_bytes(b"model")
    reply = node.agent.handle(SendFiles(assignment, checkpoints=True))
    assert isinstance(reply, FilesFailed) and reply.cause is Cause.INFRASTRUCTURE


def test_attempt_that_never_started_is_forgotten(node: Node) -> None:
    """It was refused after its files had arrived, so it has no folder, and its slot does not ask for its removal."""
    assignment = node.assignment(sweep_id := node.head.sweep())
    node.agent.handle(FetchFiles(assignment))
    node.agent.remove_leftovers()
    assert node.agent.waiting == 1, "it is not recorded yet"
    node.head.trial(sweep_id, 0, 0.5, model=False, device="b:cpu-0")
    node.agent.remove_leftovers()
    assert node.agent.waiting == 0


def test_folder_stays_while_the_next_attempt_needs_its_checkpoint(node: Node) -> None:
    first = running(node)
    here = AttemptDirectory(Path(first.directory))
    here.checkpoint.write_text("checkpoint")
    node.agent.handle(SendFiles(first, checkpoints=True))
    second = node.assignment(first.sweep_id, attempt=2, trial_id=first.trial_id)
    assert isinstance(node.agent.handle(FetchFiles(second)), FilesReady)
    node.agent.handle(RemoveFiles(first, checkpoints=False))
    assert here.checkpoint.read_text() == "checkpoint"


def test_folder_that_cannot_be_removed_is_reported(node: Node) -> None:
    assignment = over(node)
    node.data.outbox.rmdir()
    node.agent.remove_leftovers()
    assert node.agent.left == Left(), "the next search may remove it"
    node.agent.remove_leftovers()
    assert node.agent.left == Left(folders=(node.data.relative(Path(assignment.directory)),))
    node.data.outbox.mkdir()
    node.agent.remove_leftovers()
    assert not Path(assignment.directory).exists() and node.agent.left == Left()


def test_process_of_an_attempt_that_is_over_is_reported(node: Node) -> None:
    assignment, still = over(node), running(node, 1)
    processes = [subprocess.Popen(["sleep", "60"], env={"TMPDIR": each.directory}) for each in (assignment, still)]
    node.agent.remove_leftovers()
    assert node.agent.left == Left()
    node.agent.remove_leftovers()
    left = process_in(processes[0].pid, node.data.relative(Path(assignment.directory)))
    assert node.agent.left == Left(processes=(left,))
    for process in processes:
        process.kill()
        process.wait()
    node.agent.remove_leftovers()
    assert node.agent.left == Left()


def test_file_with_a_name_that_is_not_utf_8_is_named(node: Node) -> None:
    assignment = running(node)
    (AttemptDirectory(Path(assignment.directory)).root / os.fsdecode(b"\xff")).write_text("x")
    reply = node.agent.handle(SendFiles(assignment, checkpoints=False))
    assert isinstance(reply, FilesFailed) and "not UTF-8" in reply.message


def test_log_of_another_file_with_the_same_inode_is_sent_from_its_beginning(node: Node) -> None:
    """A shortened log may get the inode of the one before: several replacements between two checks."""
    assignment = running(node)
    here, there = AttemptDirectory(Path(assignment.directory)).log, node.on_head(assignment).log
    eventually(lambda: read(there) == "one\n")
    for number in range(6):
        new = here.with_name("new")
        new.write_text(f"{number} and more\n")
        new.replace(here)
    eventually(lambda: read(there) == "5 and more\n")
