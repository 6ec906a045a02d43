"""Checks at start that this machine can use the object store; a process of `podium serve` and of `podium node join`.

`python -P -m podium.sweep.file_store.object_store_check` reads a `ObjectStoreCheck` as JSON on standard input. It
prints nothing and exits with 0, or prints one sentence to standard error. It is a process of its own: `podium serve`
forks its components, and must not have the threads of the packages for object stores.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_url import ArtifactUrl, load_credentials
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import FileStoreError, MissingFileError, PodiumError, ServiceError

MODULE = "podium.sweep.file_store.object_store_check"
MARK = "podium-store"  # holds the id of the service whose files are in this folder
WITHIN_S = 90.0
_PROBE = "trials/1/0/0-{nonce}/probe"  # no trial has this attempt


@dataclass(frozen=True, slots=True)
class ObjectStoreCheck:
    """What is checked."""

    url: str
    credentials: str  # file; "": the environment
    store_id: str
    is_head: bool  # which marks a new folder as its own; a node expects the mark

    def run(self) -> None:
        """Check in a process of its own. Raises `ServiceError` with the reason why the store cannot be used."""
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", MODULE], input=json.dumps(asdict(self)), capture_output=True, text=True,
                timeout=WITHIN_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ServiceError(f"--artifact-url {self.url}: no answer within {WITHIN_S:g} s") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise ServiceError(lines[-1] if lines else f"--artifact-url {self.url}: the check was killed")


def check(wanted: ObjectStoreCheck) -> None:
    """Write, read and remove a small object, and compare the mark of the folder. Raises `PodiumError`."""
    if wanted.credentials:
        load_credentials(Path(wanted.credentials))
    store = ObjectFileStore.open(ArtifactUrl.parse(wanted.url), patience_s=0.0)
    _use(store)
    if wanted.is_head:
        store.mark(MARK, wanted.store_id)
    found = store.marked(MARK)
    if found == wanted.store_id:
        return
    if wanted.is_head:
        raise ServiceError(
            f"--artifact-url {wanted.url}: another service has its files there; give this one a folder of its own, or "
            f"remove the object {MARK} if the other one no longer exists"
        )
    raise ServiceError(f"{wanted.url} is not the folder of the head on this machine; mount it, or check the account")


def _use(store: ObjectFileStore) -> None:
    key = _PROBE.format(nonce=secrets.token_hex(4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe"
        path.write_bytes(secrets.token_bytes(64))
        store.put(key, path, sha256_of(path))
        try:
            store.get(key, Path(folder) / "back")
        except MissingFileError as error:
            raise FileStoreError(f"{store.name}: a new object cannot be found") from error
        finally:
            store.remove([key])


def main() -> None:
    """Check what standard input says."""
    try:
        check(ObjectStoreCheck(**json.loads(sys.stdin.read())))
    except PodiumError as error:
        sys.exit(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
