"""Messages of several frames on a byte stream: a Unix socket, or TLS on TCP; gateway and worker processes.

A message is the number of its frames and the length of each, as unsigned 32-bit integers in network order, and then the
frames. An endpoint is `unix:` and the path of a socket, or that of `podium.ensemble.protocol.remote_worker_endpoint`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from podium.ensemble.protocol.prediction_messages import MAX_ELEMENTS, Frames

MAX_FRAMES = 8
MAX_MESSAGE_BYTES = 2 * 4 * MAX_ELEMENTS + (64 << 20)  # two arrays and a header
_COUNT = struct.Struct("!I")
_LENGTHS = [struct.Struct(f"!{count}I") for count in range(MAX_FRAMES + 1)]
_HEAD_BYTES = [_COUNT.size + lengths.size for lengths in _LENGTHS]  # of a message with this number of frames
_UNIX = "unix:"


class FramingError(ValueError):
    """The stream holds no valid message: what follows cannot be read either."""


def unix_endpoint(path: object) -> str:
    """The endpoint of a Unix socket."""
    return f"{_UNIX}{path}"


def unix_path(endpoint: str) -> str:
    """The path of the socket. Raises `ValueError` for another kind of endpoint."""
    if not endpoint.startswith(_UNIX):
        raise ValueError(f"{endpoint}: an endpoint must start with {_UNIX}")
    return endpoint.removeprefix(_UNIX)


def framed(frames: Sequence[bytes | memoryview]) -> Frames:
    """The buffers to write for a message; the frames are not copied."""
    flat = [frame if isinstance(frame, bytes) else _flat(frame) for frame in frames]
    return [_COUNT.pack(len(flat)) + _LENGTHS[len(flat)].pack(*map(len, flat)), *flat]


def _flat(frame: memoryview) -> memoryview | bytes:
    """The bytes of an array, one item each; an array without elements cannot be cast."""
    return frame.cast("B") if frame.nbytes else b""


class FrameReader:
    """Splits a stream into messages."""

    def __init__(self) -> None:
        self._partial = bytearray()  # the beginning of a message
        self._needed = 0  # bytes that `_partial` must have before it is worth another look

    def feed(self, data: bytes) -> list[list[bytes]]:
        """The frames of each message that `data` completes. Raises `FramingError`."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self._needed:
                return []
            data, self._partial = bytes(self._partial), bytearray()
        found, start, total = [], 0, len(data)
        while start < total:
            if total - start < _COUNT.size:
                self._keep(data[start:], _COUNT.size)
                break
            (count,) = _COUNT.unpack_from(data, start)
            if not 0 < count <= MAX_FRAMES:
                raise FramingError(f"a message of {count:,} frames")
            body = start + _HEAD_BYTES[count]
            if body > total:
                self._keep(data[start:], body - start)
                break
            lengths = _LENGTHS[count].unpack_from(data, start + _COUNT.size)
            end = body + sum(lengths)
            if end - start > MAX_MESSAGE_BYTES:
                raise FramingError(f"a message of {end - start:,} bytes")
            if end > total:
                self._keep(data[start:], end - start)
                break
            frames = []
            for length in lengths:
                frames.append(data[body : body + length])
                body += length
            found.append(frames)
            start = end
        return found

    def _keep(self, beginning: bytes, needed: int) -> None:
        """Keep the beginning of a message until there are `needed` bytes of it."""
        self._partial += beginning
        self._needed = needed
