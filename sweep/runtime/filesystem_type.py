"""On what kind of file system does a path lie: SQLite's locks do not hold on those of a network; pure, cli and db."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import DataDirectoryError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs",
    "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
}  # fmt: skip
_LOCAL = {"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "overlay"}
_DOUBTFUL = {"9p"}  # folders of a host in a virtual machine or in WSL; some container runtimes have their root on it


def kind_of(path: Path, mounts: str | None = None) -> str:
    """The type of the file system that holds `path`, as Linux names it (`ext4`); "" where it does not tell.

    `mounts` is what /proc/self/mountinfo holds (proc(5)); of several mounts on one place the last is on top.
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
    """The mount points of local file systems that can be written to: asking these how full they are cannot hang."""
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
    """Is this a file system whose locks and shared memory another machine would have to keep?"""
    return kind in _NETWORK


def is_doubtful(kind: str) -> bool:
    """Is this one that sometimes cannot keep locks?"""
    return kind in _DOUBTFUL


def refuse_network(root: Path) -> None:
    """Raises `DataDirectoryError` when the data directory would lie on a network's file system."""
    kind = kind_of(root)
    if is_network(kind):
        raise DataDirectoryError(
            f"the data directory {root} lies on a network file system ({kind}), where SQLite's locks do not hold and "
            "the database would be damaged; choose a local disk with --data-dir"
        )
