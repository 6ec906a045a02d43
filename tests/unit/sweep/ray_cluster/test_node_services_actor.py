"""What a supervisor does on a node without Ray's help: names, folders, and the environment of what it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from podium.sweep.ray_cluster.node_services_actor import (
    NodeSupervisorSettings,
    claim,
    data_folder,
    node_of_supervisor,
    supervisor_name,
)
from podium.sweep.ray_cluster.ray_slot_actor import RaySlot, SlotPlace, SupervisedNode
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS, user_environment, without_ray
from podium.sweep.values.errors import DataDirectoryError

SETTINGS = NodeSupervisorSettings("podium-abc", "b", "10.0.0.7", 0, "", "https://10.0.0.5:8302", "secret", "PEM", 660.0)


def test_name_of_a_supervisor_tells_the_node() -> None:
    assert node_of_supervisor(supervisor_name("1f2e", "b")) == ("1f2e", "b")
    assert node_of_supervisor("slot-b:cpu-0") is None


def test_services_and_nodes_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder(replace(SETTINGS, data_dir="/fast")) == Path("/fast/podium-abc-b")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert data_folder(SETTINGS) == tmp_path / "podium-abc-b"


def test_folder_is_private_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "podium-abc-b"
    claim(folder)
    (folder / "file").touch()
    claim(folder)
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "file").exists()


def test_folder_that_others_may_read_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "podium-abc-b"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with pytest.raises(DataDirectoryError, match="accessible to other users"):
        claim(folder)
    link = tmp_path / "link"
    folder.chmod(0o700)
    link.symlink_to(folder)
    with pytest.raises(DataDirectoryError, match="owned by or accessible"):
        claim(link)


def test_guardian_inherits_nothing_of_ray() -> None:
    ray = {"RAY_AUTH_TOKEN": "secret", "RAY_JOB_ID": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    assert without_ray({**ray, "HOME": "/root", "LD_LIBRARY_PATH": "/lib"}) == {
        "HOME": "/root",
        "LD_LIBRARY_PATH": "/lib",
    }


@pytest.mark.parametrize("withhold", [True, False])
def test_trials_of_a_kept_node_inherit_no_credentials_and_nothing_of_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, withhold: bool
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "RAY_JOB_ID", "PYTHONBREAKPOINT", "OF_USER"):
        monkeypatch.setenv(name, "x")
    monkeypatch.delenv("PODIUM_SERVE_PID", raising=False)
    monkeypatch.setenv(WITHHOLD_CREDENTIALS, "")  # so that it is as before after the test
    monkeypatch.delenv(WITHHOLD_CREDENTIALS)
    kept = SupervisedNode(str(tmp_path), "template", "agent", 1e9, withhold_credentials=withhold)
    RaySlot(SlotPlace("cpu", 0, "1f2e", "b", cpus=1), kept)
    found = user_environment()
    assert "OF_USER" in found and not {"RAY_JOB_ID", "PYTHONBREAKPOINT"} & found.keys()
    assert ("AWS_SECRET_ACCESS_KEY" in found) is not withhold
