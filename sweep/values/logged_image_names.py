"""The files of images that trials log: name and step are in the name of the file; trial process and api."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

FOLDER = "_images"  # within the folder of artifacts, whose own names begin with a letter or a digit
MAX_NAME = 100  # characters of a name
MAX_ENCODED = 180  # bytes of it in the name of a file
SUFFIXES = ("png", "jpg", "gif", "webp")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
FILE = re.compile(rf"(?P<name>[A-Za-z0-9_~-]{{1,{MAX_ENCODED}}})\.(?P<step>[0-9]{{1,19}})\.({'|'.join(SUFFIXES)})")
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class LoggedImage:
    """Which image a file is."""

    name: str
    step: int


def file_name(name: str, step: int, suffix: str) -> str:
    """The name of the file of an image: `val/samples` at step 3 is `val~2Fsamples.3.png`."""
    encoded = "".join(chr(byte) if chr(byte) in _PLAIN else f"~{byte:02X}" for byte in name.encode())
    return f"{encoded}.{step}.{suffix}"


def parse(file: str) -> LoggedImage | None:
    """The image of a file; None for the name of any other file."""
    match = FILE.fullmatch(file)
    if match is None:
        return None
    return LoggedImage(unquote(match["name"].replace("~", "%"), errors="replace"), int(match["step"]))


def suffix_of(content: bytes) -> str | None:
    """The kind of an image by its first bytes, which a name cannot forge; None for anything else, such as SVG."""
    for magic, suffix in _MAGIC:
        if content.startswith(magic):
            return suffix
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
