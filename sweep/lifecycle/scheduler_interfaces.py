"""The ports of the scheduler: the slots, the searches and the recorder that it calls; scheduler process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from podium.sweep.lifecycle.database_changes import Change
from podium.sweep.lifecycle.dependent_sweep_release import HeldSweep
from podium.sweep.lifecycle.pending_commands import Enqueued, PendingCommands
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import TrialState

ASK_DEADLINE_S = 2.0


class SlotPool(Protocol):
    """The slots. Calls never block: answers go to the inbox."""

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        """Acknowledge events up to a number, send commands, and request the next events."""
        ...

    def kill(self, device_id: str) -> None:
        """Kill a stuck slot: it is lost, and a new one is opened."""
        ...


class Searcher(Protocol):
    """The search of one sweep. Requests are processed in order, outside the loop; answers go to the inbox."""

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = ASK_DEADLINE_S) -> None:
        """Request a trial. A sampler that has not proposed one after `deadline_s` is replaced by a random sample."""
        ...

    def retry(self, number: int) -> None: ...

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None: ...

    def suggest(self, number: int, request: SuggestRequested) -> None: ...

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None: ...

    def close(self) -> None: ...


class SearchInputs(NamedTuple):
    """The inputs of the search of a sweep."""

    spec: SweepSpec
    past: Sequence[PastTrial] = ()  # the trials of the sweep so far
    earlier: Sequence[PastTrial] = ()  # trials of other sweeps


class Searchers(Protocol):
    """Opens the searcher of a sweep; `search_generation` is part of each of its messages.

    `load` reads the inputs of the search. Reading and building are slow for many trials, and happen outside the loop,
    before the first request.
    """

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> Searcher: ...


class Recorder(Protocol):
    """Writes changes, and reads sweeps and what clients request."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all changes, in order, or raise `DatabaseError` and write nothing.

        Raises `FencedError` if another scheduler has taken over.
        """
        ...

    def confirm(self) -> None:
        """Raises `FencedError` if another scheduler has taken over, and `DatabaseError` if the database cannot tell."""
        ...

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep with work left that is not in `known`, with its trials.

        Unfinished sweeps, finished ones with unfinished trials, and those that a client has resumed. Without those that
        wait for their predecessors.
        """
        ...

    def held_sweeps(self) -> list[HeldSweep]:
        """The sweeps that wait for their predecessors, with the states of these."""
        ...

    def pending_commands(self, known: frozenset[int]) -> PendingCommands:
        """The pending commands for the sweeps in `known`, their trials, and devices."""
        ...

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 if there is none."""
        ...
