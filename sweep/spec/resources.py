"""The `resources` block of the sweep file; CLI, api process and scheduler."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from podium.sweep.spec.strict_model import Model, field_error
from podium.sweep.values.device import HEAD, NODE_NAME, machine_name

MAX_DEVICES = 1024
_ROUNDING = 1e-9  # 0.2 of five slots is one

Processes = Literal["per_device", "one"]
Pack = Literal["node", "any"]


class DeviceRange(Model):
    """The number of devices of each attempt: as many as accept trials, within these bounds."""

    min: int = Field(ge=1, le=MAX_DEVICES, description="the smallest number of devices with which a trial starts")
    max: int = Field(ge=2, le=MAX_DEVICES, description="the number of devices that a trial gets if there are enough")

    @model_validator(mode="after")
    def _ordered(self) -> DeviceRange:
        if self.min > self.max:
            raise field_error(f"must not exceed max ({self.max}), got {self.min}", "min")
        return self


class Resources(Model):
    """The resources of a trial: its devices, and CPU threads."""

    device: Literal["auto", "gpu", "cpu"] = Field("auto", description="device kind; auto: any device of the service")
    devices: int | DeviceRange = Field(
        1, description="devices of each trial, reserved together; {min: 2, max: 4}: fewer if devices are lost"
    )
    processes: Processes = Field(
        "per_device",
        description="of a trial with several devices: one rank on each, with torchrun's variables, or one process",
    )
    pack: Pack = Field("node", description="where a trial with several devices runs: on one node, or on any nodes")
    node: str | None = Field(
        None,
        pattern=f"^{NODE_NAME.pattern}$",
        description="name of the node on which all trials run, as in `podium node list`; head: the service's machine",
    )
    share: float | None = Field(
        None, gt=0, le=1, description="part of a device that each trial needs; default: one slot of the device"
    )
    max_concurrent: int | None = Field(
        None, ge=1, description="maximum number of running trials of this sweep; default: one on each device"
    )
    threads: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="CPU threads of each process, in both pools of torch; default: its share of the cores",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Resources:
        if isinstance(self.devices, int) and not 1 <= self.devices <= MAX_DEVICES:
            raise field_error(f"must be 1 to {MAX_DEVICES}, got {self.devices}", "devices")
        if self.several and self.share is not None:
            raise field_error("a trial with several devices has them whole; remove share, or devices", "share")
        if not self.several:
            for key in ("processes", "pack"):
                if key in self.model_fields_set:
                    raise field_error("only valid with several devices; set devices, or remove it", key)
        if self.processes == "one" and self.pack == "any":
            raise field_error("one process sees the devices of one node only; write pack: node", "pack")
        return self

    @property
    def most(self) -> int:
        """The number of devices of a trial, if there are enough."""
        return self.devices if isinstance(self.devices, int) else self.devices.max

    @property
    def least(self) -> int:
        """The smallest number of devices with which a trial starts."""
        return self.devices if isinstance(self.devices, int) else self.devices.min

    def slots(self, slots_per_device: int) -> int:
        """The smallest number of slots with which a trial starts, where each device has `slots_per_device`."""
        if self.several:
            return self.least
        if self.share is None:
            return 1
        return max(1, math.ceil(self.share * slots_per_device - _ROUNDING))

    def fits(self, kind: str, device_id: str) -> bool:
        """Whether trials may run on a device of this kind and name."""
        return self.device in ("auto", kind) and (self.node is None or self.node == machine_name(device_id))

    @property
    def required_device(self) -> str:
        """The device that trials require, for messages."""
        kind = "device" if self.device == "auto" else self.device
        if self.node is None:
            return f"a {kind}"
        return f"a {kind} of this machine" if self.node == HEAD else f"a {kind} of the node {self.node}"

    @property
    def several(self) -> bool:
        """Whether a trial may have several devices."""
        return self.most > 1
