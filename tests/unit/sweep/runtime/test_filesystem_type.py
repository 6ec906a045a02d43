"""File systems: which one contains a path; network file systems are rejected for the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.filesystem_type import filesystem_type_of, refuse_network, writable_local
from podium.sweep.values.errors import DataDirectoryError

MOUNTS = """\
21 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 21 0:40 / /srv rw - nfs4 server:/export rw
31 30 0:41 / /srv/local rw - xfs /dev/vdb rw
32 21 0:42 / /mnt/my\\040share rw - cifs //server/share rw
33 21 0:43 / /twice rw - nfs4 server:/a rw
34 21 0:44 / /twice rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data", "ext4"),
        ("/srv/podium", "nfs4"),
        ("/srv/local/podium", "xfs"),
        ("/srv/locally", "nfs4"),
        ("/mnt/my share/podium", "cifs"),
        ("/twice/over", "tmpfs"),
    ],
)
def test_nearest_mount_contains_path(path: str, kind: str) -> None:
    assert filesystem_type_of(Path(path), MOUNTS) == kind


def test_only_local_writable_mounts_are_listed() -> None:
    read_only = "35 21 0:45 / /ro ro - ext4 /dev/vdc ro\n36 21 0:46 / /proc rw - proc proc rw\n"
    assert writable_local(MOUNTS + read_only) == ["/", "/srv/local", "/twice"]


def test_filesystem_type_of_existing_folder_is_known(tmp_path: Path) -> None:
    assert filesystem_type_of(tmp_path)


def _mounted(kind: str) -> str:
    return f"21 1 253:0 / / rw - {kind} source rw\n"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs"])
def test_network_file_system_is_rejected(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataDirectoryError, match=rf"is on a network file system \({kind}\).*Choose a local disk"):
        refuse_network(tmp_path, _mounted(kind))


def test_local_file_system_is_accepted(tmp_path: Path) -> None:
    refuse_network(tmp_path, _mounted("ext4"))
