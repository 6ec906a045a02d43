"""Records a computation as a graph of tensor operations, without its Python overhead; worker process.

Small networks spend more time in Python than in arithmetic: module calls, the bookkeeping of vmap, schema matching. The
computation is recorded once by `torch.fx`. Values that depend only on the weights, such as a transposed weight, are
computed once; the rest runs the same kernels on the same numbers in the same order.
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
    """Record `compute`.

    A recording of one row is valid for one row only; a recording of several rows is valid for any number above one,
    unless an operation recorded the number as a constant: compare with `compute` on other numbers of rows. Raises the
    error of `torch.fx` if the computation cannot be recorded, for example with data-dependent control flow.
    """
    from torch.fx.experimental.proxy_tensor import make_fx  # imported here because it takes a second

    with torch.no_grad():
        alone = len(sample) == 1
        graph = make_fx(compute, tracing_mode="real" if alone else "symbolic", _allow_non_fake_inputs=True)(sample)
        constants = _fold(graph)
        plain = _program(graph, constants)
        quick = _program(_native(graph), constants)
        return quick if _same(quick, plain, sample) else plain


def _fold(graph: fx.GraphModule) -> dict[str, Any]:
    """Fold nodes that do not depend on the input. Returns the constants by their names in the generated code."""
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
    """Replace recorded operators by PyTorch functions, which dispatch to the same kernels faster."""
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            name = node.target._schema.name.split("::")[1]
            node.target = getattr(torch, name, None) or getattr(torch.Tensor, name, node.target)
    return graph


def _program(graph: fx.GraphModule, constants: dict[str, Any]) -> Compute:
    """The generated code with constants as plain attributes: module attribute lookup is slower."""
    graph.recompile()
    return functools.partial(type(graph).forward, SimpleNamespace(**constants))


def _same(quick: Compute, plain: Compute, sample: torch.Tensor) -> bool:
    try:
        return torch.equal(quick(sample), plain(sample))
    except (TypeError, RuntimeError, ValueError):  # the function has another signature than the operator
        return False
