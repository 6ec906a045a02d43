"""The URL of an object store for the files of attempts, and its file system; nodes process, node agent, `serve`.

Credentials are never part of the URL: the packages of fsspec read them from their usual environment variables and
profile files, in the processes that use the store. Others import no such package: s3fs alone takes 100 MB.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.values.errors import MissingExtraError, ServiceError

EXTRAS = {"s3": "s3", "gs": "gcs", "az": "azure"}  # protocol -> extra of the `podium` package
PROTOCOLS = (*EXTRAS, "file")
EXAMPLES = "s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, az://CONTAINER/FOLDER or file:///FOLDER"
_URL = re.compile(r"(?P<protocol>[a-z0-9]+)://(?P<path>[^?#]*)")
_PART = re.compile(r"[A-Za-z0-9._=+-]{1,200}")
_VARIABLE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)")
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CONNECTION_STRING|SAS")
_MIN_SECRET = 6  # characters; a shorter value could be part of any word
_IN_URL = re.compile(r"(?<=://)[^/\s@]+@|\?[^\s'\"<>]+")  # credentials before the host, and signatures of a query
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 10, "read_timeout": 60}},
}


@dataclass(frozen=True, slots=True)
class ArtifactUrl:
    """A folder in an object store."""

    protocol: str
    path: str  # without a slash at its end

    def __str__(self) -> str:
        return f"{self.protocol}://{self.path}"

    @classmethod
    def parse(cls, text: str, option: str = "--artifact-url") -> ArtifactUrl:
        """Parse the URL of an option. Raises `ServiceError` that repeats no part of a URL that may hold credentials."""
        match = _URL.fullmatch(text)
        if match is None or match["protocol"] not in PROTOCOLS:
            raise ServiceError(f"{option}: write {EXAMPLES}, without `?` and `#`")
        path = match["path"].rstrip("/")
        parts = path.split("/")
        if match["protocol"] == "file":
            if not path.startswith("/") or ".." in parts:
                raise ServiceError(f"{option}: file:// needs an absolute path, like file:///mnt/podium")
            return cls("file", path)
        if not all(_PART.fullmatch(part) and part.strip(".") for part in parts):
            raise ServiceError(
                f"{option}: write {EXAMPLES}, with letters, digits and `._=+-` in the names, and without "
                "credentials: these come from the environment or from a file of credentials"
            )
        return cls(match["protocol"], path)

    def open(self) -> tuple[Any, str]:
        """The file system of fsspec, without a cache of listings, and the path of the folder in it.

        Raises `MissingExtraError` without the package of the protocol.
        """
        import fsspec

        try:
            options = {"use_listings_cache": False, "skip_instance_cache": True, **_OPTIONS.get(self.protocol, {})}
            filesystem = fsspec.filesystem(self.protocol, **options)
        except ImportError as error:
            raise MissingExtraError(f"{self.protocol}://…", EXTRAS[self.protocol]) from error
        return filesystem, self.path


def normalized(text: str) -> str:
    """An `--artifact-url` as it is recorded. Raises `ServiceError`."""
    return str(ArtifactUrl.parse(text))


def load_credentials(file: Path, option: str = "--artifact-credentials") -> None:
    """Set the variables of a file of credentials in this process: lines NAME=VALUE, and comments with #.

    Raises `ServiceError`, also if other users may read the file.
    """
    try:
        mode = file.stat().st_mode
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"{option} {file}: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise ServiceError(f"{option} {file}: other users may read it; run `chmod 600 {file}`")
    os.environ.update(_variables(f"{option} {file}", lines))


def _variables(place: str, lines: Iterable[str]) -> dict[str, str]:
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _VARIABLE.fullmatch(text)
        if match is None:  # the message does not repeat the line, which may hold a secret
            raise ServiceError(f"{place}, line {number}: write NAME=VALUE")
        value = match["value"].strip()
        quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
        found[match["name"]] = value[1:-1] if quoted else value
    return found


def without_credentials(message: str, variables: Mapping[str, str] | None = None) -> str:
    """A message of a library without secrets: URLs lose user names and queries, secrets in variables become ***."""
    for name, value in (os.environ if variables is None else variables).items():
        if len(value) >= _MIN_SECRET and _SECRET.search(name):
            message = message.replace(value, "***")
    return _IN_URL.sub("***", message)
