"""The client of the search process: start it, send it trials, receive its proposals. Scheduler process.

Slow samplers, and those that import torch, run in the search process. Nothing here blocks: one thread writes lines,
another reads them, and received messages go to a callback.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from podium.sweep.protocol.search_process_messages import (
    ProposalComputed,
    ProposalFailed,
    ProposalRequested,
    SamplerExhausted,
    SamplerUnusable,
    SearchOpening,
    SearchProcessEnded,
    SearchReady,
    SearchReply,
    TrialChanged,
    decode_reply,
    encode_request,
)
from podium.sweep.search.sweep_search import Search
from podium.sweep.values.search_messages import PastTrial, TrialPlan

log = logging.getLogger("podium.search")

_MASKED = ("RAY_", "PODIUM_")
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}

ProcessMessage = SearchReply | SearchProcessEnded
OnMessage = Callable[[ProcessMessage], None]


class Process(Protocol):
    """A search process; each call returns at once."""

    pid: int

    def feed(self, trial: PastTrial) -> None:
        """Send a new or changed trial."""
        ...

    def ask(self, number: int) -> None:
        """Request values for a trial; all trials before it must have been sent."""
        ...

    def close(self) -> None:
        """Kill it."""
        ...


OpenProcess = Callable[[Search, OnMessage], Process]


class SearchProcess:
    """A process that starts with all trials of `search`, and then receives each change.

    `on_message` is called, in a thread of its own, with each reply, and with `SearchProcessEnded` at the end. The
    process dies with the thread that started it.
    """

    def __init__(self, search: Search, on_message: OnMessage) -> None:
        self._on_message = on_message
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "podium.sweep.search.search_process", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if not name.startswith(_MASKED)} | _ONE_THREAD,
            text=True,
        )
        self.pid = self._process.pid
        opening = opening_lines(search)
        for work in (lambda: self._write(opening), self._read):
            threading.Thread(target=work, name="search-process", daemon=True).start()

    def feed(self, trial: PastTrial) -> None:
        self._lines.put(encode_request(TrialChanged(trial)))

    def ask(self, number: int) -> None:
        self._lines.put(encode_request(ProposalRequested(number)))

    def close(self) -> None:
        self._process.kill()
        self._lines.put(None)
        self._process.wait()

    def _write(self, opening: Iterator[str]) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                pipe.writelines(opening)
                pipe.flush()
                while (line := self._lines.get()) is not None:
                    pipe.write(line)
                    pipe.flush()
        except OSError:  # the process ended; the reader reports it
            pass

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in pipe:
                self._on_message(decode_reply(line))
        self._lines.put(None)
        self._process.wait()
        self._on_message(SearchProcessEnded())


def opening_lines(search: Search) -> Iterator[str]:
    """All trials of the search now, as lines that are generated while the process reads."""
    spec, earlier, trials = search.spec.to_json(), search.earlier, search.past_trials()

    def lines() -> Iterator[str]:
        yield encode_request(SearchOpening(spec, earlier))
        for trial in trials:
            yield encode_request(TrialChanged(trial))

    return lines()


class Proposer:
    """Proposals of a search process, one at a time; starts it, and restarts it when it ends, up to `STARTS` times.

    A late proposal is kept for the next trial. Used in one thread; `post` must call its callback there.
    """

    STARTS = 3  # then sweeps continue with random samples, or fail: the process may exhaust the machine's memory

    def __init__(
        self,
        search: Search,
        post: Callable[[OnMessage, ProcessMessage], None],
        open_process: OpenProcess = SearchProcess,
    ) -> None:
        self._search = search
        self._post = post
        self._open = open_process
        self._process: Process | None = None
        self._starts = 0
        self._asked: int | None = None
        self.proposal: TrialPlan | None = None  # received but not used yet
        self.ready = False
        self.started_s = self.ready_s = math.inf
        self.exhausted = False  # received instead of a proposal, but not used yet
        self.unusable = ""  # why the sampler's class cannot be used
        self.error = ""  # of the last failed proposal, until it is used

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def is_disabled(self) -> bool:
        """Whether it ended too often to be restarted."""
        return self._process is None and self._last

    @property
    def _last(self) -> bool:
        return self._starts >= self.STARTS

    def start(self) -> None:
        """Start it, unless it runs or ended too often."""
        if self._process is not None or self._last:
            return
        start = self._starts + 1
        try:
            self._process = self._open(
                self._search, lambda message: self._post(lambda posted: self._receive(start, posted), message)
            )
        except OSError as error:
            self.error = f"failed to start the search process: {error}"
        else:
            self._starts = start
            self.started_s = time.perf_counter()

    def feed(self, number: int) -> None:
        """Send a changed trial."""
        if self._process is not None:
            self._process.feed(self._search.past_trial(number))

    def ask(self) -> None:
        """Request a proposal for the next trial, unless one is pending or present."""
        if (
            self._process is not None
            and self.ready
            and self._asked is None
            and self.proposal is None
            and not self.exhausted
        ):
            self._asked = len(self._search)
            self._process.ask(self._asked)

    def take(self) -> TrialPlan | None:
        """Use the proposal, if there is one."""
        proposal, self.proposal = self.proposal, None
        return proposal

    def take_exhausted(self) -> bool:
        """Whether the sampler is exhausted."""
        exhausted, self.exhausted = self.exhausted, False
        return exhausted

    def take_error(self) -> str:
        error, self.error = self.error, ""
        return error

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def release(self) -> None:
        """Close it for good, and let go of the search: messages of the process may still refer to this object."""
        self.close()
        del self._search

    def _receive(self, start: int, message: ProcessMessage) -> None:
        if start != self._starts or self._process is None:
            return  # of an earlier process
        match message:
            case SearchReady():
                self.ready, self.ready_s = True, time.perf_counter()
            case SamplerUnusable(error):
                self.unusable = error
            case SearchProcessEnded():
                log.warning(
                    "the search process ended; %s",
                    "it is not restarted" if self._last else "it is restarted",
                )
                self._process, self._asked, self.ready = None, None, False
            case ProposalComputed(planned):
                self._asked, self.proposal = None, planned
            case SamplerExhausted():
                self._asked, self.exhausted = None, True
            case ProposalFailed(error=error):
                self._asked, self.error = None, error
