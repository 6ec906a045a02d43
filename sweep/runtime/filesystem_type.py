"""Detects the file system type of a path, since SQLite's locks fail on network file systems; CLI and database."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import DataDirectoryError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs",
    "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
}  # fmt: skip
_LOCAL = {"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "overlay"}
_UNRELIABLE = {"9p"}  # host folders in a virtual machine or in WSL; the root of some container runtimes


def filesystem_type_of(path: Path, mounts: str | None = None) -> str:
    """The Linux file system type of `path`, such as `ext4`; "" if unknown.

    `mounts`: the content of /proc/self/mountinfo (proc(5)); of several mounts on a mount point the last one counts.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text()
        except OSError:
            return ""
    resolved = path.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(left.split()[4].replace("\\040", " "))
        if resolved.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), right.split()[0]
    return kind


def writable_local(mounts: str | None = None) -> list[str]:
    """The mount points of writable local file systems, on which statvfs cannot hang."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text()
        except OSError:
            return []
    found = []
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if right.split()[0] in _LOCAL and "rw" in fields[5].split(","):
            found.append(fields[4].replace("\\040", " "))
    return found


def is_network(kind: str) -> bool:
    """Whether it is a network file system, which does not support SQLite's locks and shared memory."""
    return kind in _NETWORK


def is_unreliable(kind: str) -> bool:
    """Whether its file locks may be unreliable."""
    return kind in _UNRELIABLE


def refuse_network(root: Path, mounts: str | None = None) -> None:
    """Raises `DataDirectoryError` if the data directory is on a network file system.

    `mounts`: see `filesystem_type_of`.
    """
    kind = filesystem_type_of(root, mounts)
    if is_network(kind):
        raise DataDirectoryError(
            f"the data directory {root} is on a network file system ({kind}), which does not support SQLite's locks; "
            "the database could be corrupted. Choose a local disk with --data-dir"
        )
