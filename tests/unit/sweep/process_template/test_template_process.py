"""A request arrives at the template whole, with its descriptors, or not at all."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from podium.sweep.process_template.template_process import close_all, receive_line


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a connection: of the client, and of the template."""
    client, template = socket.socketpair()
    with client, template:
        yield client, template


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The reading end, which does not wait, and the writing end, which a test closes."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)


def test_line_in_parts_arrives_whole_with_all_descriptors(
    pair: tuple[socket.socket, socket.socket], pipe: tuple[int, int]
) -> None:
    client, template = pair
    reading, writing = pipe
    socket.send_fds(client, [b'{"name":'], [writing])
    socket.send_fds(client, [b' "a"}\n'], [writing])
    os.close(writing)
    line, descriptors = receive_line(template)
    assert (line, len(descriptors)) == (b'{"name": "a"}\n', 2)
    os.write(descriptors[0], b"written")
    assert os.read(reading, 100) == b"written"
    close_all(descriptors)
    assert os.read(reading, 100) == b"", "no writing end is open"


def test_descriptors_of_an_incomplete_line_are_closed(
    pair: tuple[socket.socket, socket.socket], pipe: tuple[int, int]
) -> None:
    client, template = pair
    reading, writing = pipe
    socket.send_fds(client, [b'{"name":'], [writing])
    os.close(writing)
    client.close()
    with pytest.raises(ConnectionResetError, match="closed its connection"):
        receive_line(template)
    assert os.read(reading, 100) == b"", "no writing end is open"
