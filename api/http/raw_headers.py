"""The headers of an ASGI message, as bytes; api and gateway."""

from __future__ import annotations

Headers = list[tuple[bytes, bytes]]


def header_values(headers: Headers, name: bytes) -> list[bytes]:
    """All values of a header; names are in lower case."""
    return [header[1] for header in headers if header[0] == name]
