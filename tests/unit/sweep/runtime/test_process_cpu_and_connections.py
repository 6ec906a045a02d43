"""Processor time and connections of processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from podium.sweep.runtime.process_cpu_and_connections import cpu_s, has_connection, has_ended

CONNECTS = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(); sys.stdin.read()"
)


def test_connection_of_a_descendant_is_found_and_own_ones_may_be_ignored() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not has_connection(os.getpid(), port)
        with socket.create_connection(("127.0.0.1", port)):
            assert has_connection(os.getpid(), port) and not has_connection(os.getpid(), port, 1)
            child = subprocess.Popen(
                [sys.executable, "-c", CONNECTS, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            with child:
                assert child.stdout is not None
                child.stdout.readline()
                assert has_connection(os.getpid(), port, 1) and has_connection(child.pid, port)
                child.communicate()
        assert not has_connection(os.getpid(), port, 1)


def test_processor_time_grows_and_is_zero_for_an_ended_process() -> None:
    before = cpu_s(os.getpid())
    while cpu_s(os.getpid()) == before:
        sum(range(10_000))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(ended.pid) and not has_ended(os.getpid())  # a zombie
    ended.wait()
    assert has_ended(ended.pid) and cpu_s(ended.pid) == 0.0
