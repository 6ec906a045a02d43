"""Reads small files of the kernel, such as those of /proc; every process, Linux."""

from __future__ import annotations

import os


def read_kernel_file(path: str) -> bytes:
    """The content of a file. Raises `OSError`.

    Without `Path` and file objects: a slot reads a dozen of these files for each attempt, and a fork server and a trial
    read them in memory that they must copy.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    content = b""
    try:
        while part := os.read(descriptor, 16384):
            content += part
    finally:
        os.close(descriptor)
    return content
