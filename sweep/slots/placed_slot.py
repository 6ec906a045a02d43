"""A slot that describes its device and its node; slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription
from podium.sweep.protocol.slot_process_messages import SlotIdentity
from podium.sweep.slots.attempt_files import AgentFiles
from podium.sweep.slots.slot import Slot


class PlacedSlot(Slot):
    """A `Slot` on a device of a node."""

    def __init__(self, identity: SlotIdentity, template: Callable[[], Path]) -> None:
        """`template`: returns the socket of the process template."""
        super().__init__(
            identity.name,
            DeviceView(identity.visible, identity.uuid),
            template,
            Path(identity.root),
            files=AgentFiles(Path(identity.agent)) if identity.agent else None,
        )
        self._identity = identity
        self.socket = ""  # at which it listens, if it does

    def describe(self) -> SlotDescription:
        """The state of the slot, with its device and node."""
        identity = self._identity
        return replace(
            super().describe(),
            kind=identity.kind,
            position=identity.position,
            node=identity.node,
            threads=identity.threads,
            address=identity.address,
            slots=identity.slots,
            socket=self.socket,
        )
