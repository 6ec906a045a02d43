"""One gRPC call without a token, byte by byte, and the response of a Ray server."""

from __future__ import annotations

import re
import socket
import struct

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS, _HEADERS, _DATA = 4, 1, 0
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_STATUS = re.compile(rb"grpc-status.(\d{1,2})", re.DOTALL)  # in a header that Ray's servers do not compress
UNIMPLEMENTED, UNAUTHENTICATED = 12, 16


def status_without_token(address: tuple[str, int], method: str, timeout_s: float = 10.0) -> int:
    """The gRPC status of `method`, as `/package.Service/Method`, without credentials."""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in headers.items())
    with socket.create_connection(address, timeout_s) as connection:
        connection.sendall(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, b"")
            + _frame(_HEADERS, _END_HEADERS, 1, block)
            + _frame(_DATA, _END_STREAM, 1, bytes(5))  # an empty message
        )
        heard = b""
        while not (found := _STATUS.search(heard)):
            content = connection.recv(65536)
            assert content, f"{address} closed the connection and said {heard!r}"
            heard += content
        return int(found[1])


def _text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content
