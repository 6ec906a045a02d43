"""Trials that search everything they can reach for secrets, which they know only by digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_WORDS = re.compile(rb"(?<![\w-])[\w-]{43,71}(?![\w-])")  # the maximum length of a secret
_LARGE_BYTES = 1 << 20
_LARGEST_MAPPING_BYTES = 64 << 20


def everywhere(trial: Any) -> float:
    """Return the number of secrets found; prints where, like a careless program."""
    known = json.loads((_HERE / "digests.json").read_text())
    print("environment:", dict(os.environ))
    found = set()
    for where, content in _places(trial):
        for word in set(_WORDS.findall(content)):
            if (name := known.get(hashlib.sha256(word).hexdigest())) is not None:
                found.add(f"{name} in {where}")
    for line in sorted(found):
        print("FOUND", line)
    return float(len(found))


def and_fails(trial: Any) -> float:
    """Ends with an error, whose traceback and message are kept."""
    raise ValueError(f"nothing works here: {dict(os.environ)}")


def _places(trial: Any) -> Iterator[tuple[str, bytes]]:
    yield from _memory()
    yield "the environment", "\n".join(os.environ.values()).encode()
    yield "/proc/self/environ", Path("/proc/self/environ").read_bytes()
    yield "a child's environment", subprocess.run(["cat", "/proc/self/environ"], capture_output=True, check=True).stdout
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            yield from _read(process / "cmdline", "a command line")
            yield from _read(process / "environ", "the environment of another process")
    for descriptor in Path("/proc/self/fd").iterdir():
        if descriptor.exists():
            yield from _files(descriptor.resolve(), "**/*")
    for folder in (_HERE, Path.cwd(), Path(trial.dir)):
        yield from _files(folder, "**/*")
    for name, value in os.environ.items():
        for path in value.split(os.pathsep) if name != "PATH" else ():
            if path.startswith("/"):
                yield from _files(Path(path), "*")


def _memory() -> Iterator[tuple[str, bytes]]:
    """The writable memory of this process, which includes that of the process it was forked from."""
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:
        for line in Path("/proc/self/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            start, end = (int(number, 16) for number in span.split("-"))
            if rights.startswith("rw") and end - start <= _LARGEST_MAPPING_BYTES:
                memory.seek(start)
                try:
                    yield "its memory", memory.read(end - start)
                except OSError:
                    continue


def _files(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    for file in path.glob(pattern) if path.is_dir() else [path]:
        if file.is_file() and file.stat().st_size <= _LARGE_BYTES:
            yield from _read(file, str(file))


def _read(path: Path, where: str) -> Iterator[tuple[str, bytes]]:
    try:
        yield where, path.read_bytes()
    except OSError:
        return
