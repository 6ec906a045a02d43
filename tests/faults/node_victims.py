"""The processes of a machine of the rig by role, so that one of each can be killed or stopped."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.process_trees import children
from tests.cluster.machines import Machine
from tests.faults.victims import Process, Processes, read_process

ON_NODE = ("raylet", "agent", "guardian", "template")  # one of each on each node
ON_HEAD = ("scheduler", "nodes")
_NAMES = {  # as the kernel shows them: 15 characters
    "raylet": "raylet",
    "agent": "podium-agent",
    "guardian": "podium-guardian",
    "template": "podium-template",
    "scheduler": "podium-schedule",
    "nodes": "podium-nodes",
}


class MachineCensus(Processes):
    """Every process of a machine at one time."""

    def __init__(self, machine: Machine) -> None:
        here = machine.processes()
        parents = {child: pid for pid in here for child in children(pid)}
        read = [read_process(pid, parents.get(pid, 0)) for pid in here]
        super().__init__(process for process in read if process is not None)

    def of(self, kind: str) -> list[int]:
        """The process ids of a role: "slot", "slot relay", "trial", or one of `ON_NODE` and `ON_HEAD`."""
        others = {"slot": self.slots, "slot relay": self.slot_relays, "trial": self.trials}
        if kind in others:
            return sorted(each.pid for each in others[kind]())
        return sorted(each.pid for each in self._found.values() if each.name == _NAMES[kind])

    def defunct(self) -> list[Process]:
        """Processes that have ended and that their parent has not reaped."""
        return [each for each in self._found.values() if _state(each.pid) == "Z"]

    def is_complete(self, slots: int) -> bool:
        """Whether all processes of a node are there, each once."""
        return all(len(self.of(kind)) == 1 for kind in ON_NODE) and len(self.of("slot")) == slots


def _state(pid: int) -> str:
    """A letter; "" if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
