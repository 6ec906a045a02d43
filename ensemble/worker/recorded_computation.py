"""A computation written down as the tensor operations it is made of, so that no Python of its own is left; worker.

Small networks spend more time in Python than in arithmetic: module calls, vmap's bookkeeping, arguments matched against
schemas. Recorded once by `torch.fx`, what depends on the weights alone is computed once (a transposed weight, say),
and the rest is called straight. The same kernels run on the same numbers in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import fx

Compute = Callable[[torch.Tensor], torch.Tensor]


def record(compute: Compute, sample: torch.Tensor) -> Compute:
    """`compute` as a recording.

    Of one row, for one row; of more, for any number above one, unless an operation wrote the number down: whoever
    records compares with `compute` on other numbers of rows. Raises whatever `torch.fx` raises for what cannot be
    recorded, such as control flow that depends on the data.
    """
    from torch.fx.experimental.proxy_tensor import make_fx  # takes a second: only where something is recorded

    with torch.no_grad():
        alone = len(sample) == 1
        graph = make_fx(compute, tracing_mode="real" if alone else "symbolic", _allow_non_fake_inputs=True)(sample)
        constants = _fold(graph)
        plain = _program(graph, constants)
        quick = _program(_native(graph), constants)
        return quick if _same(quick, plain, sample) else plain


def _fold(graph: fx.GraphModule) -> dict[str, Any]:
    """Compute what no input reaches; returns the constants by the names that the graph's code has for them."""
    known: dict[fx.Node, Any] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr":
            known[node] = getattr(graph, node.target)
        elif node.op == "call_function" and node.all_input_nodes and all(n in known for n in node.all_input_nodes):
            value = _value(node, known)
            if isinstance(value, torch.Tensor):
                constant = _constant(graph, node, value)
                known[constant] = value
            known[node] = value
    graph.graph.eliminate_dead_code()
    return {node.target: known[node] for node in graph.graph.nodes if node.op == "get_attr"}


def _value(node: fx.Node, known: dict[fx.Node, Any]) -> Any:
    arguments, options = fx.node.map_arg((node.args, node.kwargs), lambda argument: known[argument])
    assert callable(node.target)
    return node.target(*arguments, **options)


def _constant(graph: fx.GraphModule, node: fx.Node, value: torch.Tensor) -> fx.Node:
    name = f"_folded_{node.name}"
    graph.register_buffer(name, value)
    with graph.graph.inserting_before(node):
        constant = graph.graph.get_attr(name)
    node.replace_all_uses_with(constant)
    return constant


def _native(graph: fx.GraphModule) -> fx.GraphModule:
    """Call PyTorch's own functions: what a recording names goes through a slower door to the same kernels."""
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            name = node.target._schema.name.split("::")[1]
            node.target = getattr(torch, name, None) or getattr(torch.Tensor, name, node.target)
    return graph


def _program(graph: fx.GraphModule, constants: dict[str, Any]) -> Compute:
    """The graph's code with its constants as plain attributes: a module looks each of them up in three dictionaries."""
    graph.recompile()
    return functools.partial(type(graph).forward, SimpleNamespace(**constants))


def _same(quick: Compute, plain: Compute, sample: torch.Tensor) -> bool:
    try:
        return torch.equal(quick(sample), plain(sample))
    except (TypeError, RuntimeError, ValueError):  # a function that takes its arguments in another way
        return False
