"""Moves the chosen plans from the process that has measured them to the worker; worker process and its fork.

Both have the same networks, so a constant that is stored in a weight is sent as its position there, and other constants
by value. The code of a recorded plan is sent as text.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from safetensors.torch import load, save

from podium.ensemble.worker.execution_plans import RECORDED, GroupPlans, Plan
from podium.ensemble.worker.plan_selection import GroupChoices, NetworkChoices, PlanChoice
from podium.ensemble.worker.tensor_graph_recording import STANDARD_NAMES, RecordedProgram

_LENGTH_BYTES = 8


class NotTransferableError(ValueError):
    """The plan uses an object that only its own process has."""


def pack(chosen: NetworkChoices, plans: Sequence[GroupPlans]) -> bytes:
    """Encode what was chosen; `plans` are those of the groups. The loop replaces a plan that cannot be moved."""
    values: dict[str, torch.Tensor] = {}
    groups = []
    for number, (group, group_plans) in enumerate(zip(chosen.groups, plans, strict=True)):
        packed = [_packed(choice, group_plans, values, f"{number}.{size}.") for size, choice in group.choices.items()]
        groups.append({"choices": packed, "fell_back": group.fell_back})
    header = json.dumps(
        {
            "groups": groups,
            "threads": list(chosen.threads.items()),
            "at_once": list(chosen.at_once.items()),
            "devices_took_us": list(chosen.devices_took_us.items()),
            "warm_s": chosen.warm_s,
        }
    ).encode()
    return len(header).to_bytes(_LENGTH_BYTES, "big") + header + bytes(save(values))


def unpack(content: bytes, plans: Sequence[GroupPlans]) -> NetworkChoices:
    """Decode what was chosen, for the same networks in this process. Raises an error for damaged content."""
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "big")
    header = json.loads(content[_LENGTH_BYTES:end])
    values: dict[str, torch.Tensor] = load(content[end:])
    groups = [
        GroupChoices(
            {each["rows"]: _unpacked(each, group_plans, values) for each in group["choices"]}, group["fell_back"]
        )
        for group, group_plans in zip(header["groups"], plans, strict=True)
    ]
    return NetworkChoices(
        groups, dict(header["threads"]), dict(header["at_once"]), dict(header["devices_took_us"]), header["warm_s"]
    )


def _packed(choice: PlanChoice, plans: GroupPlans, values: dict[str, torch.Tensor], prefix: str) -> dict[str, Any]:
    if not isinstance(choice.compute, RecordedProgram):
        return choice.to_dict()
    program = choice.compute
    added: dict[str, torch.Tensor] = {}
    try:
        names = {name: _reference(held) for name, held in program.names.items() if name not in STANDARD_NAMES}
        constants = {
            name: _position(held, plans) or _value(held, added, prefix + name)
            for name, held in program.constants.items()
        }
    except NotTransferableError as error:
        refused = {**choice.refused, choice.plan: str(error)}
        return replace(choice, plan=Plan.LOOP, compute=plans.run_loop, refused=refused).to_dict()
    values.update(added)
    return {**choice.to_dict(), "program": {"source": program.source, "names": names, "constants": constants}}


def _unpacked(packed: Mapping[str, Any], plans: GroupPlans, values: Mapping[str, torch.Tensor]) -> PlanChoice:
    plan = Plan(packed["plan"])
    took_us = {Plan(name): us for name, us in packed["took_us"].items()}
    refused = {Plan(name): why for name, why in packed["refused"].items()}
    compute = _program(packed["program"], plans, values) if plan in RECORDED else plans.unrecorded(plan)
    return PlanChoice(packed["rows"], plan, compute, took_us, refused)


def _program(packed: Mapping[str, Any], plans: GroupPlans, values: Mapping[str, torch.Tensor]) -> RecordedProgram:
    storages = list(_storages(plans))
    names = {name: pkgutil.resolve_name(reference) for name, reference in packed["names"].items()}
    constants = {
        name: values[held] if isinstance(held, str) else _view(storages[held["weight"]], held)
        for name, held in packed["constants"].items()
    }
    return RecordedProgram.bind(packed["source"], {**STANDARD_NAMES, **names}, constants)


# Names of generated code.


def _reference(held: object) -> str:
    """Where any process finds an object, for `pkgutil.resolve_name`."""
    own = f"{getattr(held, '__module__', None)}:{getattr(held, '__qualname__', None)}"
    for reference in (f"torch:Tensor.{getattr(held, '__name__', None)}", own):
        try:
            if pkgutil.resolve_name(reference) is held:
                return reference
        except (AttributeError, ImportError, ValueError):
            continue
    raise NotTransferableError(f"its code uses {held!r:.100}")


# Constants.


def _storages(plans: GroupPlans) -> Iterator[torch.UntypedStorage]:
    """The memory of the weights, in the same order in both processes; several weights may share one."""
    found: set[int] = set()
    for tensor in plans.weights():
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in found:
            found.add(storage.data_ptr())
            yield storage


def _position(held: object, plans: GroupPlans) -> dict[str, Any] | None:
    """The position of a constant in the memory of the weights; None if it is stored elsewhere."""
    if not isinstance(held, torch.Tensor):
        raise NotTransferableError(f"it has a constant of type {type(held).__name__}")
    address = held.untyped_storage().data_ptr()
    for number, storage in enumerate(_storages(plans)):
        if address == storage.data_ptr() != 0:
            return {
                "weight": number, "dtype": str(held.dtype).removeprefix("torch."), "offset": held.storage_offset(),
                "shape": list(held.shape), "strides": list(held.stride()),
            }  # fmt: skip
    return None


def _view(storage: torch.UntypedStorage, position: Mapping[str, Any]) -> torch.Tensor:
    empty = torch.empty(0, dtype=getattr(torch, position["dtype"]), device=storage.device)
    return empty.set_(storage, position["offset"], position["shape"], position["strides"])


def _value(held: object, values: dict[str, torch.Tensor], key: str) -> str:
    assert isinstance(held, torch.Tensor)
    values[key] = held.detach().clone(memory_format=torch.contiguous_format)
    return key
