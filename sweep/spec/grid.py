"""A grid over conditional parameters: its size, and its points by index in a seeded order; CLI, api and scheduler.

Points are not enumerated: a tree over the conditions counts and locates them, so that a grid of 10**15 points takes as
much memory as one of ten, and a point is found in microseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.decimal_steps import on_step

MAX_POINTS = 10**18
_MAX_STATES = 10_000  # of the conditions: bounds the memory and time of counting
_ROUNDS = 6  # of the Feistel network; 4 suffice for a pseudorandom permutation (Luby and Rackoff 1988)

_Dead = frozenset[str]  # later parameters that are already known to be inactive


class GridError(Exception):
    """The points of a grid cannot be counted; the message gives the reason and an alternative."""


class Axis:
    """The distinct choices of one parameter by index; a range is not materialized."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter
        self._values = [parameter.value] if not parameter.is_range else None
        if parameter.values is not None:
            self._values = list(dict.fromkeys(parameter.values))
        self.size = (parameter.count() or 0) if self._values is None else len(self._values)

    def choice(self, index: int) -> Scalar:
        if self._values is not None:
            return self._values[index]
        low, step = self._parameter.min, self._parameter.step
        assert low is not None
        return int(low) + index * int(step or 1) if self._parameter.integer else on_step(low, step or 1, index)

    def index_of(self, value: Scalar) -> int:
        """Raises `ValueError` if the value is not one of the choices."""
        if self._values is not None:
            return self._values.index(value)
        low = self._parameter.min
        assert low is not None and isinstance(value, int | float)
        return round((value - low) / (self._parameter.step or 1))


@dataclass(frozen=True, slots=True)
class _Branch:
    """Choices of a parameter with the same effect on later conditions: all of `indices`, or all except these."""

    dead: _Dead
    indices: tuple[int, ...]  # ascending
    size: int
    excluding: bool

    def nth(self, position: int) -> int:
        """The index of the choice at a position within the branch."""
        if not self.excluding:
            return self.indices[position]
        for index in self.indices:
            if index > position:
                break
            position += 1
        return position


class Grid:
    """Every combination once; inactive parameters do not multiply points. Raises `GridError`.

    Used instead of Optuna's GridSampler, which raises when the grid is exhausted and repeats points after a restart.
    """

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self._names = _depth_first(parameters)
        self._axes = {name: Axis(parameter) for name, parameter in parameters.items()}
        self._children = _children_of(parameters, self._axes)
        self._branches: dict[tuple[int, _Dead], tuple[_Branch, ...]] = {}
        self._counts: dict[tuple[int, _Dead], int] = {}
        self._count()
        self.size = self._counts[0, frozenset()]

    def point(self, index: int) -> Params:
        """The combination at an index below `size`."""
        point: Params = {}
        dead: _Dead = frozenset()
        for place, name in enumerate(self._names):
            for branch in self._branches[place, dead]:
                below = self._counts[place + 1, branch.dead]
                if index < branch.size * below:
                    break
                index -= branch.size * below
            if name not in dead:
                position, index = divmod(index, below)
                point[name] = self._axes[name].choice(branch.nth(position))
            dead = branch.dead
        return point

    def shuffled(self, index: int, seed: int) -> Params:
        """The combination at an index of the order given by the seed."""
        return self.point(shuffled(index, self.size, seed))

    def _count(self) -> None:
        """Count the points below each reachable state, from the last parameter to the first."""
        reached: list[set[_Dead]] = [{frozenset()}]
        for place in range(len(self._names)):
            following: set[_Dead] = set()
            for dead in reached[place]:
                if len(self._branches) >= _MAX_STATES:
                    raise GridError("the conditions are too complex to count the grid points; use method: random")
                branches = self._branches[place, dead] = tuple(self._branches_of(place, dead))
                following |= {branch.dead for branch in branches}
            reached.append(following)
        for dead in reached[-1]:
            self._counts[len(self._names), dead] = 1
        for place in range(len(self._names) - 1, -1, -1):
            for dead in reached[place]:
                found = self._branches[place, dead]
                self._counts[place, dead] = sum(one.size * self._counts[place + 1, one.dead] for one in found)

    def _branches_of(self, place: int, dead: _Dead) -> list[_Branch]:
        name = self._names[place]
        children = self._children.get(name, {})
        if name in dead:
            return [_Branch((dead - {name}) | set(children), (0,), 1, excluding=False)]
        by_dead: dict[_Dead, list[int]] = {}
        named = sorted({index for wanted in children.values() for index in wanted})
        for index in named:
            after = dead | {child for child, wanted in children.items() if index not in wanted}
            by_dead.setdefault(after, []).append(index)
        branches = [_Branch(after, tuple(found), len(found), excluding=False) for after, found in by_dead.items()]
        others = self._axes[name].size - len(named)
        if others > 0:
            branches.append(_Branch(dead | set(children), tuple(named), others, excluding=True))
        return branches


def shuffled(index: int, size: int, seed: int) -> int:
    """A seeded permutation of `range(size)`: a Feistel network, iterated until the result is in range."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for turn in range(_ROUNDS):
            digest = hashlib.blake2b(f"{seed}:{turn}:{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
        index = (left << half) | right
        if index < size:
            return index


def _depth_first(parameters: Mapping[str, Parameter]) -> list[str]:
    """Each parameter directly after those that its `when` names, which keeps the number of open conditions small."""
    order: dict[str, None] = {}
    backwards = list(parameters)[::-1]
    waiting = list(backwards)
    while waiting:
        name = waiting.pop()
        if name not in order and order.keys() >= (parameters[name].when or {}).keys():
            order[name] = None
            waiting += [child for child in backwards if name in (parameters[child].when or {})]
    return list(order)


def _children_of(parameters: Mapping[str, Parameter], axes: Mapping[str, Axis]) -> dict[str, dict[str, frozenset[int]]]:
    """By parameter: its dependents, each with the indices of the choices that activate it."""
    found: dict[str, dict[str, frozenset[int]]] = {}
    for child, parameter in parameters.items():
        for name, wanted in (parameter.when or {}).items():
            values = wanted if isinstance(wanted, list) else [wanted]
            indices = frozenset(axes[name].index_of(value) for value in values)
            found.setdefault(name, {})[child] = indices
    return found
