"""Decompresses request bodies up to a size limit; gateway."""

from __future__ import annotations

import zlib

from podium.sweep.values.errors import BadRequestError, TooLargeError

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}  # deflate is the zlib format (RFC 9110, 8.4.1.2)
ENCODINGS = frozenset(_WINDOW)


def decompress(content: bytes, encoding: str, limit: int) -> bytes:
    """The decompressed content; `encoding` is one of `ENCODINGS`.

    Raises `TooLargeError` if the result exceeds `limit` bytes, without allocating more, and `BadRequestError` if
    `content` is corrupt or truncated, or has trailing data.
    """
    decompressor = zlib.decompressobj(_WINDOW[encoding])
    try:
        plain = decompressor.decompress(content, limit + 1)
    except zlib.error as error:
        raise BadRequestError(f"invalid {encoding} body: {error}") from error
    if len(plain) > limit:
        raise TooLargeError(f"the decompressed body exceeds {limit:,} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise BadRequestError(f"invalid {encoding} body: truncated, or has trailing data")
    return plain
