"""The rig itself: machines reach each other, a cut cable closes nothing, and a killed machine leaves nothing."""

from __future__ import annotations

import socket
import subprocess
import sys

import psutil

from tests.cluster.machines import Machine, Network
from tests.running_service import wait_for

LISTEN = """
import socket
with socket.create_server(("0.0.0.0", 9000)) as listening:
    while True:
        connection, _ = listening.accept()
        connection.sendall(socket.gethostname().encode())
"""
READ = """
import socket, sys
with socket.create_connection((sys.argv[1], 9000), timeout=0.5) as connection:
    print(connection.recv(100).decode())
"""
HOLD = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 9000), timeout=5)
connection.recv(100)
print("connected", flush=True)
connection.settimeout(1.5)
try:
    print(repr(connection.recv(100)), flush=True)
except TimeoutError:
    print("silent", flush=True)
"""


def _reads(machine: Machine, other: Machine) -> str:
    try:
        return machine.run(sys.executable, "-c", READ, other.address).strip()
    except subprocess.CalledProcessError:
        return ""


def test_machines_reach_each_other_by_their_addresses_only(network: Network) -> None:
    first, second = network.add("first"), network.add("second")
    first.start([sys.executable, "-c", LISTEN])
    wait_for("it listens", lambda: _reads(second, first) == "first")
    assert _reads(second, second) == ""
    assert not {"bridge", "port-1", "port-2"} & {name for _, name in socket.if_nameindex()}, "outside the rig"


def test_cut_cable_is_silent_and_can_be_connected_again(network: Network) -> None:
    first, second = network.add("first"), network.add("second")
    first.start([sys.executable, "-c", LISTEN])
    wait_for("it listens", lambda: _reads(second, first))
    holding = second.start([sys.executable, "-c", HOLD, first.address], stdout=subprocess.PIPE, text=True)
    assert holding.stdout is not None and holding.stdout.readline() == "connected\n"
    first.unplug()
    assert holding.stdout.readline() == "silent\n", "the connection is not closed"
    assert _reads(second, first) == ""
    first.plug()
    wait_for("they reach each other again", lambda: _reads(second, first) == "first")


def _has_ended(pid: int) -> bool:
    """Also if this process has adopted it, as an earlier test may have requested, and has not read its status."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_killed_machine_leaves_no_process(network: Network) -> None:
    machine = network.add("first")
    machine.start([sys.executable, "-c", LISTEN])
    wait_for("it runs", lambda: len(machine.processes()) >= 2)
    before = machine.processes()
    machine.kill()
    wait_for("all have ended", lambda: all(map(_has_ended, before)))


def test_machine_has_its_own_name_and_processes(network: Network) -> None:
    machine = network.add("first")
    assert machine.run("hostname").strip() == "first"
    seen = machine.run(sys.executable, "-c", "import os; print(*filter(str.isdecimal, os.listdir('/proc')))").split()
    assert "1" in seen and len(seen) < 10


def test_machine_can_be_added_again_under_its_name(network: Network) -> None:
    for _ in range(3):
        machine = network.add("first")
        assert machine.run("hostname").strip() == "first"
        machine.kill()
