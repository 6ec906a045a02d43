"""The execution plans of a group: loop, stacked, recorded, compiled; worker process.

Each plan maps rows (rows, features) to the members' outputs, float32 (members, rows, outputs).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from enum import StrEnum

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.worker.architecture_groups import Group
from podium.ensemble.worker.tensor_graph_recording import Compute, record

_RECORDED_ROWS = 7  # no layer has this size, so that a recorded constant is detected
BACKEND = "inductor"


class Plan(StrEnum):
    """How the outputs of a group are computed."""

    LOOP = "loop"  # members in turn
    STACKED = "stacked"  # weights stacked along a member axis, computed with vmap
    RECORDED_LOOP = "recorded_loop"
    RECORDED_STACKED = "recorded_stacked"
    COMPILED_LOOP = "compiled_loop"
    COMPILED_STACKED = "compiled_stacked"


RECORDED = (Plan.RECORDED_LOOP, Plan.RECORDED_STACKED)
QUICK = (Plan.STACKED, Plan.RECORDED_LOOP, Plan.RECORDED_STACKED)  # prepared in about a second
SLOW = (Plan.COMPILED_LOOP, Plan.COMPILED_STACKED)  # need many seconds, and a C++ compiler or Triton


class GroupPlans:
    """The plans of one group. The members' weights become views of the stacked weights, so they are stored once."""

    def __init__(self, group: Group, *, backend: str = BACKEND) -> None:
        """`backend`: of `torch.compile`."""
        self._backend = backend
        self._modules = group.modules
        # In a lower precision, stacking changes more than the last bit: only loops give what between-graph gives.
        stackable = len(group.modules) > 1 and group.precision is Precision.FLOAT32
        self._stacked = _stacked(group.modules) if stackable else None

    def candidates(self, slow: bool) -> tuple[Plan, ...]:
        """The plans that may be faster than the loop; without stacked weights, only loops."""
        known = QUICK + SLOW if slow else QUICK
        only_loops = self._stacked is None
        return tuple(plan for plan in known if not (only_loops and plan.value.endswith(Plan.STACKED.value)))

    def prepare(self, plan: Plan, sample: torch.Tensor) -> Compute:
        """Prepare a plan for as many rows as `sample` (rows, features) has; if several, for any number above one.

        Raises the error of PyTorch if the networks cannot be stacked, recorded or compiled.
        """
        compute = self.unrecorded(plan)
        if plan in RECORDED:
            return record(lambda rows: compute(rows), sample[:_RECORDED_ROWS])
        if plan in SLOW:
            return torch.compile(compute, dynamic=len(sample) > 1, backend=self._backend)
        return compute

    def unrecorded(self, plan: Plan) -> Compute:
        """What a plan computes, before it is recorded or compiled."""
        compute = self.run_loop if plan in (Plan.LOOP, Plan.RECORDED_LOOP, Plan.COMPILED_LOOP) else self._stacked
        assert compute is not None, "the plan is not a candidate"
        return compute

    def weights(self) -> Iterator[torch.Tensor]:
        """The weights and buffers of all members."""
        for module in self._modules:
            yield from module.parameters()
            yield from module.buffers()

    def run_loop(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute one member after the other: the reference for all other plans."""
        return torch.stack([module(rows) for module in self._modules])

    def run_one(self, index: int, rows: torch.Tensor) -> torch.Tensor:
        """The outputs of one member, (rows, outputs)."""
        answers: torch.Tensor = self._modules[index](rows)
        return answers


def _stacked(modules: tuple[nn.Module, ...]) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Return None if the weights cannot be stacked or the network cannot be copied, as with some users' networks."""
    try:
        parameters, buffers = stack_module_state(list(modules))
        state = {name: tensor.detach() for name, tensor in (parameters | buffers).items()}
        skeleton = copy.deepcopy(modules[0]).to("meta")
    except Exception:  # noqa: BLE001 - any error of PyTorch: the loop always works
        return None
    _share(modules, state)

    def one(weights: dict[str, torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = functional_call(skeleton, weights, (rows,))
        return answers

    return lambda rows: vmap(one, in_dims=(0, None))(state, rows)


def _share(modules: tuple[nn.Module, ...], state: dict[str, torch.Tensor]) -> None:
    for index, module in enumerate(modules):
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            tensor.data = state[name][index]
