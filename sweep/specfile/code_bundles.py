"""User code as a zip file with a content hash: packed by the client, checked and unpacked by the api process.

A bundle is checked completely before anything is written: no links, no paths outside the folder, no duplicates, and
bounded size.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import tempfile
import unicodedata
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from podium.sweep.values.code_references import RESERVED_MODULES
from podium.sweep.values.errors import BundleError

MAX_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 256 * 2**20
MAX_FILES = 10_000
MAX_NAME = 1024
MAX_PART = 255  # bytes of a folder or file name: the limit of common file systems
_LEFT_OUT = {"__pycache__", "node_modules", "venv", "podium-data", "wandb"}
_ENTRY = b"PK\1\2"  # signature of a file's entry in the central directory of a zip
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, max_unpacked_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """A deterministic zip of a folder: it depends on file names and contents only.

    Hidden files and folders, caches and virtual environments are excluded. Raises `BundleError`.
    """
    if not folder.is_dir():
        raise BundleError(f"program.code: folder {folder} does not exist")
    content = io.BytesIO()
    if sum(path.stat().st_size for path in _files(folder)) > max_unpacked_bytes:
        raise _too_large(folder, f"exceeds {max_unpacked_bytes >> 20} MB")
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(folder):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
            if content.tell() > MAX_BYTES:
                raise _too_large(folder, f"exceeds {MAX_BYTES >> 20} MB when packed")
    return content.getvalue()


def _too_large(folder: Path, what: str) -> BundleError:
    largest = max(_files(folder), key=lambda path: path.stat().st_size)
    size = f"the largest file, {largest.relative_to(folder)}, has {largest.stat().st_size / (1 << 20):,.1f} MB"
    advice = "move data elsewhere, or to a folder whose name begins with a dot, which is excluded"
    return BundleError(f"program.code: the code in {folder} {what}; {size}; {advice}")


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        found += [Path(root, name) for name in files if not name.startswith(".") and not name.endswith(".pyc")]
    found = sorted(path for path in found if path.is_file() and not path.is_symlink())
    if len(found) > MAX_FILES:
        raise BundleError(
            f"program.code: {folder} has {len(found):,} files, more than {MAX_FILES:,}; use another folder"
        )
    return found


def digest(content: bytes) -> str:
    """The name of a bundle: its SHA-256."""
    return hashlib.sha256(content).hexdigest()


def check_names(content: bytes) -> None:
    """Checks the names in a bundle made by `pack`, before it is uploaded. Raises `BundleError`."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _checked(archive, MAX_UNPACKED_BYTES)


def unpack(content: bytes, folder: Path, max_unpacked_bytes: int = MAX_UNPACKED_BYTES) -> None:
    """Check a bundle and write it to `folder`, atomically. Raises `BundleError`; nothing is written then."""
    if len(content) > MAX_BYTES:
        raise BundleError(f"the bundle exceeds {MAX_BYTES >> 20} MB")
    if content.count(_ENTRY) > MAX_FILES:  # before `zipfile` creates an object for each of up to a million entries
        raise BundleError(f"the bundle has more than {MAX_FILES:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _checked(archive, max_unpacked_bytes)
            for member in members:
                _prove(archive, member)
            folder.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
            try:
                _write(archive, members, temporary)
                _put_in_place(temporary, folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise BundleError(f"the bundle is not a valid zip file: {error}") from error


def _checked(archive: zipfile.ZipFile, max_unpacked_bytes: int) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > MAX_FILES:
        raise BundleError(f"the bundle has {len(members):,} files, more than {MAX_FILES:,}")
    if sum(member.file_size for member in members) > max_unpacked_bytes:
        raise BundleError(f"the bundle exceeds {max_unpacked_bytes >> 20} MB when unpacked")
    for member in members:
        _check_member(member)
    files = [member for member in members if not member.is_dir()]
    _check_apart([PurePosixPath(member.filename) for member in members], "is a duplicate")
    paths = {_folded(PurePosixPath(member.filename)) for member in files}
    folders = {folder for member in members for folder in PurePosixPath(member.filename).parents}
    for folder in folders:
        if _folded(folder) in paths:
            raise BundleError(f"{str(folder)!r} is both a file and a folder in the bundle")
    _check_apart(list(folders), "is a folder with two spellings in the bundle")
    return files


def _check_apart(paths: list[PurePosixPath], complaint: str) -> None:
    """Raises `BundleError` for paths that are equal on some file systems: up to case and Unicode normalization."""
    seen: set[str] = set()
    for path in paths:
        if _folded(path) in seen:
            raise BundleError(f"{str(path)!r} {complaint}")
        seen.add(_folded(path))


def _folded(path: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(path).casefold())


def _prove(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Checks the length and checksum of a member by reading it. Raises `BundleError` or the errors of `zipfile`."""
    length = 0
    with archive.open(member) as source:
        while chunk := source.read(_CHUNK):
            length += len(chunk)
    if length != member.file_size:
        raise BundleError(f"{member.filename!r}: the length differs from the zip directory")


def _check_member(member: zipfile.ZipInfo) -> None:
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or "\0" in member.filename:
        raise BundleError(f"{member.filename!r}: the path leaves the bundle")
    if not path.parts or len(member.filename) > MAX_NAME or max(len(os.fsencode(p)) for p in path.parts) > MAX_PART:
        raise BundleError(f"{member.filename[:60]!r}: the name is empty or too long")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BundleError(f"{member.filename!r} is a link or a special file")
    if path.parts[0].removesuffix(".py") in RESERVED_MODULES:
        raise BundleError(f"{member.filename!r}: the name podium is reserved; rename it")


def _put_in_place(unpacked: Path, folder: Path) -> None:
    """Renames the folder into place; if a concurrent upload of the same content was first, keeps that one."""
    try:
        unpacked.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _write(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path) -> None:
    for member in members:
        target = folder / member.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, target.open("xb") as written:
            shutil.copyfileobj(source, written, _CHUNK)
