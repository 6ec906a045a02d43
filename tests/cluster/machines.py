"""Machines on one machine: each a network, mount, process and host name namespace, connected by a bridge.

For tests of several nodes. Killing a machine kills all its processes at once; unplugging it is a cable that is cut, not
a connection that is closed. The bridge is in a namespace of its own, so the network of the real machine is unchanged.
All processes end with the one that made them. Needs root and iproute2: `unavailable_reason` says what is missing, and
`one_way_reason` why packets cannot be dropped in one direction only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.process_trees import children, die_with_parent
from tests.repository import ROOT

SUBNET = "10.77.0"
_ALONE = ("--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc")
# The first process of a machine reaps orphans, as a real one does.
_INIT = "hostname {name} && ip link set lo up && while :; do sleep 86400 & wait; done"
_TRY = "ip link set lo up && ip link add bridge type bridge && ip link add one type veth peer name other"
_DROP = ("root", "blackhole")  # a queueing discipline of `tc`: packets that leave the device are dropped, silently
_TRY_DROP = f"tc qdisc add dev lo {' '.join(_DROP)}"
_SLOW = ("root", "tbf", "rate", "40mbit", "burst", "256kb", "latency", "400ms")  # 5 MB/s
_TRY_SLOW = f"tc qdisc add dev lo {' '.join(_SLOW)}"
_SWITCH = "ip link set lo up && ip link add bridge type bridge && ip link set bridge up && exec sleep infinity"
_PYTHONPATH = os.pathsep.join((str(ROOT / "src"), str(ROOT)))  # this clone, whichever one is installed
_CLONE_NEWNET = 0x40000000
START_S = 10.0


def unavailable_reason() -> str:
    """Why no machines can be made here, or ""."""
    if os.geteuid() != 0:
        return "namespaces need root"
    if missing := [program for program in ("unshare", "nsenter", "ip", "hostname") if shutil.which(program) is None]:
        return f"{', '.join(missing)} not found: install util-linux and iproute2"
    tried = subprocess.run(["unshare", *_ALONE, "sh", "-c", _TRY], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"namespaces are not permitted: {tried.stderr.strip()}"


def one_way_reason() -> str:
    """Why packets cannot be dropped in one direction only, or ""; needs `unavailable_reason` to be ""."""
    return _missing_discipline(_TRY_DROP)


def slow_uplink_reason() -> str:
    """Why the bandwidth of a machine cannot be limited, or ""; needs `unavailable_reason` to be ""."""
    return _missing_discipline(_TRY_SLOW)


def _missing_discipline(command: str) -> str:
    if shutil.which("tc") is None:
        return "tc not found: install iproute2"
    tried = subprocess.run(["unshare", "--net", "sh", "-c", command], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"the kernel cannot `{command}`: {tried.stderr.strip()}"


class Network:
    """A bridge, and the machines on it. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._switch = _start(["unshare", "--net", "sh", "-c", _SWITCH])
        self.machines: dict[str, Machine] = {}
        self._added = 0
        with _killed_on_error(self._switch):
            _wait("the bridge is up", lambda: self.run("ip", "link", "show", "bridge", check=False).returncode == 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(_end, self._switch)
            for machine in list(self.machines.values()):
                stack.callback(machine.kill)

    def add(self, name: str) -> Machine:
        """A new machine with the next address; its folder is empty."""
        self._added += 1
        folder = self._folder / f"{self._added}-{name}"
        folder.mkdir(parents=True)
        machine = self.machines[name] = Machine(name, self._added, folder, self)
        return machine

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the network namespace of the bridge."""
        return subprocess.run(
            ["nsenter", "-t", str(self._switch.pid), "--net", *command], check=check, capture_output=True, text=True
        )


class Machine:
    """One machine: a host name, an address, a folder for its temporary files, and its processes."""

    def __init__(self, name: str, number: int, folder: Path, network: Network) -> None:
        self.name = name
        self.address = f"{SUBNET}.{number}"
        self.folder = folder
        self._network = network
        self._port = f"port-{number}"  # never one of a machine that the kernel is still removing
        self._started: list[subprocess.Popen[Any]] = []
        self._outer = _start(["unshare", *_ALONE, "sh", "-c", _INIT.format(name=name)])
        with _killed_on_error(self._outer):
            _wait(f"{name} has started", self._has_started)
            (self._init,) = children(self._outer.pid)
            self._connect()

    @property
    def is_running(self) -> bool:
        return self._outer.poll() is None

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a command on this machine; it ends with the machine, or with this process."""
        variables = {
            **os.environ, "TMPDIR": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder), "PYTHONPATH": _PYTHONPATH,
            **(environment or {}),
        }  # fmt: skip
        self._started.append(_start([*self._inside(), *command], env=variables, cwd=ROOT, **options))
        return self._started[-1]

    @property
    def init(self) -> int:
        """Its first process, by its id outside."""
        return self._init

    def run(self, *command: str, timeout_s: float = 60.0, **options: Any) -> str:
        """Run a command on this machine; its output. Raises `CalledProcessError`."""
        process = self.start(command, stdout=subprocess.PIPE, text=True, **options)
        said, _ = process.communicate(timeout=timeout_s)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command, said)
        return str(said)

    def processes(self) -> list[int]:
        """The processes of this machine, by their ids outside of it; [] if it has ended."""
        if not self.is_running:
            return []
        here = _namespace(Path(f"/proc/{self._init}"))
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _namespace(path) == here]

    def unplug(self) -> None:
        """Cut its cable: packets are dropped in both directions, and connections are not closed."""
        self._network.run("ip", "link", "set", self._port, "down")

    def drop_outgoing(self) -> None:
        """Drop what this machine sends; it still receives."""
        self.run("tc", "qdisc", "add", "dev", "eth0", *_DROP)

    def drop_incoming(self) -> None:
        """Drop what others send to this machine; it still sends."""
        self._network.run("tc", "qdisc", "add", "dev", self._port, *_DROP)

    def slow_uplink(self) -> None:
        """Send 5 MB/s at most, until it is plugged again; it still receives at full speed."""
        self.run("tc", "qdisc", "add", "dev", "eth0", *_SLOW)

    def plug(self) -> None:
        """Connect the cable again, in both directions, at full speed."""
        self._network.run("ip", "link", "set", self._port, "up")
        self._network.run("tc", "qdisc", "del", "dev", self._port, "root", check=False)
        with contextlib.suppress(subprocess.CalledProcessError):  # there is none to delete
            self.run("tc", "qdisc", "del", "dev", "eth0", "root", stderr=subprocess.DEVNULL)

    def limit_disk(self, folder: Path, megabytes: int) -> None:
        """Mount a file system of this size at a folder, which only this machine sees."""
        folder.mkdir(parents=True, exist_ok=True)
        self.run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "none", str(folder))

    def enter_network(self) -> None:
        """Move the calling thread to the network of this machine, for good: its new sockets are there."""
        with Path(f"/proc/{self._init}/ns/net").open() as namespace:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def kill(self) -> None:
        """End it without a shutdown: the kernel kills all its processes."""
        _end(self._outer)  # with --kill-child, the kernel kills the first process of its namespace as well
        for process in self._started:
            process.wait(timeout=START_S)
            if process.stdout is not None:
                process.stdout.close()
        self._network.machines.pop(self.name, None)

    def _has_started(self) -> bool:
        """Whether the first process has done its work, and waits."""
        return [process_name(pid) for init in children(self._outer.pid) for pid in children(init)] == ["sleep"]

    def _connect(self) -> None:
        switch = self._network.run
        switch("ip", "link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", str(self._init))
        switch("ip", "link", "set", self._port, "master", "bridge", "up")
        for command in (["address", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            subprocess.run([*self._inside(), "ip", *command], check=True)

    def _inside(self) -> list[str]:
        return ["nsenter", "-t", str(self._init), "--net", "--mount", "--uts", "--pid"]


def _start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that ends with this one."""
    parent = os.getpid()
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=lambda: die_with_parent(parent), **options)


def _end(process: subprocess.Popen[Any]) -> None:
    process.kill()
    process.wait(timeout=START_S)


@contextlib.contextmanager
def _killed_on_error(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _end(process)
        raise


def _namespace(process: Path) -> str:
    try:
        return str((process / "ns" / "pid").readlink())
    except OSError:
        return ""


def _wait(what: str, condition: Any) -> None:
    end = time.monotonic() + START_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {START_S:g} s: {what}")
        time.sleep(0.01)
