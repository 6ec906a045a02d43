"""Bodies that come compressed: unpacked no further than a limit; pure, gateway."""

from __future__ import annotations

import zlib

from podium.sweep.values.errors import BadRequestError, TooLargeError

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}  # deflate is the zlib format (RFC 9110, 8.4.1.2)
ENCODINGS = frozenset(_WINDOW)


def unpacked(content: bytes, encoding: str, limit: int) -> bytes:
    """What `content` was before it was packed by `encoding`, one of `ENCODINGS`.

    Raises `TooLargeError` when that is above `limit` bytes, without ever holding more, and `BadRequestError` when it
    is damaged, cut, or has something after its end.
    """
    unpacker = zlib.decompressobj(_WINDOW[encoding])
    try:
        plain = unpacker.decompress(content, limit + 1)
    except zlib.error as error:
        raise BadRequestError(f"the body is not {encoding}: {error}") from error
    if len(plain) > limit:
        raise TooLargeError(f"the body is above {limit:,} bytes, unpacked")
    if not unpacker.eof or unpacker.unused_data:
        raise BadRequestError(f"the body is not {encoding}: it is cut, or something follows its end")
    return plain
