"""Images that a trial logs by name and step: converted to PNG, written atomically, limited; trial process."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.protocol.message_limits import MAX_STEP
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values import logged_image_names
from podium.sweep.values.errors import UserCodeError

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Limits on the images of one attempt."""

    files: int = 1000
    image_bytes: int = 4 * _MB
    bytes: int = 256 * _MB  # in total
    side: int = 8192  # pixels


LIMITS = ImageLimits()


def save(directory: AttemptDirectory, name: str, image: Any, step: int, *, limits: ImageLimits = LIMITS) -> Path:
    """Write an image; replaces that of the same name and step. Raises `UserCodeError`, and `OSError` for a path."""
    what = f"log_image({name!r:.120}, step={step!r:.40})"
    _check(name, step, what)
    content = image_bytes(image, what, limits)
    suffix = logged_image_names.suffix_of(content)
    if suffix is None:
        kinds = ", ".join(logged_image_names.SUFFIXES)
        raise UserCodeError(f"{what}: not an image of a supported kind ({kinds}); pass an array, or save it as PNG")
    if len(content) > limits.image_bytes:
        raise UserCodeError(
            f"{what}: the image has {len(content) / _MB:.1f} MB; the limit is {limits.image_bytes // _MB} MB: make it "
            "smaller, or use save_artifact"
        )
    folder = directory.artifacts / logged_image_names.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / logged_image_names.file_name(name, int(step), suffix)
    _check_limits(target, len(content), what, limits)
    temporary = directory.root / f".image.{os.getpid()}.tmp"  # removed by the slot if this process is killed
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


class ScriptImages:
    """The images that a script has written to the folder `_images` of its artifacts, as `NAME.STEP.png`."""

    def __init__(self, folder: Path, log_image: Callable[[str, Path, int], None]) -> None:
        """`folder`: of the artifacts."""
        self._folder = folder / logged_image_names.FOLDER
        self._log_image = log_image
        self._seen: dict[str, tuple[int, int]] = {}  # size and modification time by name
        self._has_warned = False

    def read_new(self) -> None:
        """Log new and changed images. One that cannot be logged is reported once, and is no failure."""
        try:
            entries = sorted(os.scandir(self._folder), key=lambda entry: entry.name)
        except OSError:  # there is no such folder
            return
        for entry in entries:
            if entry.name.endswith(".tmp") or not entry.is_file(follow_symlinks=False):
                continue
            status = entry.stat()
            version = (status.st_size, status.st_mtime_ns)
            if self._seen.get(entry.name) == version:
                continue
            self._seen[entry.name] = version
            self._log(Path(entry.path))

    def _log(self, path: Path) -> None:
        found = logged_image_names.parse(path.name)
        try:
            if found is None:
                raise UserCodeError(f"{path.name}: images of a script are named NAME.STEP.png, such as samples.10.png")
            self._log_image(found.name, path, found.step)
        except (UserCodeError, OSError) as error:
            if not self._has_warned:
                self._has_warned = True
                print(f"podium: failed to log an image: {error}", file=sys.stderr)


def image_bytes(image: Any, what: str, limits: ImageLimits = LIMITS) -> bytes:
    """The content of an image file. Raises `UserCodeError` for an unsupported object.

    A path or bytes are used as they are; a figure of Matplotlib, an image of Pillow, an array of NumPy and a tensor of
    torch become PNG.
    """
    if isinstance(image, bytes | bytearray):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        with Path(image).open("rb") as file:
            return file.read(limits.image_bytes + 1)
    buffer = io.BytesIO()
    if hasattr(image, "savefig"):
        image.savefig(buffer, format="png")
        return buffer.getvalue()
    if hasattr(image, "save") and hasattr(image, "mode"):
        image.save(buffer, format="PNG")
        return buffer.getvalue()
    return _png_of_array(image, what, limits)


def _png_of_array(image: Any, what: str, limits: ImageLimits) -> bytes:
    import numpy as np

    is_tensor = hasattr(image, "detach")
    try:
        pixels = np.asarray(image.detach().cpu() if is_tensor else image)
    except Exception as error:  # noqa: BLE001 - any object may be passed
        raise UserCodeError(f"{what}: {type(image).__name__} is not an image: {error}") from None
    if is_tensor and pixels.ndim == 3 and pixels.shape[0] in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)  # as in torch: channels, height, width
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or not pixels.size:
        raise UserCodeError(
            f"{what}: an array must have the shape (height, width) or (height, width, channels) with 1, 3 or 4 "
            f"channels, and a tensor (channels, height, width); got {tuple(np.shape(image))}"
        )
    if max(pixels.shape[:2]) > limits.side:
        raise UserCodeError(
            f"{what}: an image has at most {limits.side} × {limits.side} pixels, got {pixels.shape[:2]}"
        )
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    elif np.issubdtype(pixels.dtype, np.floating):
        if not np.isfinite(pixels).all():
            raise UserCodeError(f"{what}: contains NaN or infinity; floating-point pixels are between 0 and 1")
        pixels = np.round(np.clip(pixels.astype(np.float64), 0.0, 1.0) * 255).astype(np.uint8)
    elif np.issubdtype(pixels.dtype, np.integer):
        pixels = np.clip(pixels, 0, 255).astype(np.uint8)
    else:
        raise UserCodeError(f"{what}: pixels are numbers, got {pixels.dtype}")
    return _png(np.ascontiguousarray(pixels).tobytes(), *pixels.shape)


def _png(pixels: bytes, height: int, width: int, channels: int) -> bytes:
    """A PNG file without filters (https://www.w3.org/TR/png-3/): 8 bits for each channel, rows from the top."""
    color = {1: 0, 3: 2, 4: 6}[channels]
    stride = width * channels
    rows = b"".join(b"\0" + pixels[at : at + stride] for at in range(0, len(pixels), stride))
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _check(name: str, step: int, what: str) -> None:
    is_integer = hasattr(step, "__index__") and not isinstance(step, bool)  # also an integer of numpy
    if not is_integer or not 0 <= int(step) <= MAX_STEP:
        raise UserCodeError(f"{what}: step must be an integer of at least 0")
    plain = isinstance(name, str) and name.isprintable() and 0 < len(name) <= logged_image_names.MAX_NAME
    if not plain or len(logged_image_names.file_name(name, 0, "png")) - len(".0.png") > logged_image_names.MAX_ENCODED:
        raise UserCodeError(
            f"{what}: a name has 1 to {logged_image_names.MAX_NAME} characters, fewer if they are not ASCII"
        )


def _check_limits(target: Path, size: int, what: str, limits: ImageLimits) -> None:
    with os.scandir(target.parent) as entries:
        others = [entry.stat(follow_symlinks=False).st_size for entry in entries if entry.name != target.name]
    if len(others) >= limits.files:
        raise UserCodeError(f"{what}: a trial can log at most {limits.files:,} images; log fewer steps")
    if size + sum(others) > limits.bytes:
        raise UserCodeError(
            f"{what}: the images of this trial would take more than {limits.bytes // _MB} MB; log fewer or smaller ones"
        )
