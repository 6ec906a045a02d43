"""The process that searches beside the scheduler, seen from there: start it, feed it, hear what it proposes; scheduler.

A sampler that is slow, or that loads torch, works there. Nothing here waits: lines are written by one thread and read
by another, and what is heard goes to a callback.
"""

from __future__ import annotations

import json
import logging
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from podium.sweep.search.sweep_search import Search
from podium.sweep.values.trial_history import PastTrial, Planned

log = logging.getLogger("podium.search")

_MASKED = ("RAY_", "PODIUM_")
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}

Heard = Callable[[dict[str, Any]], None]


class Process(Protocol):
    """A search beside this one; each call returns at once."""

    pid: int

    def feed(self, trial: PastTrial) -> None:
        """A trial is now so."""
        ...

    def ask(self, number: int) -> None:
        """Have it propose values for a trial; all before it must have been fed."""
        ...

    def close(self) -> None:
        """End it, whatever it is at."""
        ...


OpenProcess = Callable[[Search, Heard], Process]


class SearchProcess:
    """One such process. It knows all that `search` did when it was started, and then what it is told.

    `heard` is called, in a thread of its own, with each message: `ready`, or `unusable` for a class that cannot be
    used; `proposed`, `exhausted`, `failed`; and `gone` at the end. It dies with the thread that started it.
    """

    def __init__(self, search: Search, heard: Heard) -> None:
        self._heard = heard
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "podium.sweep.search.search_process", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if not name.startswith(_MASKED)} | _ONE_THREAD,
            text=True,
        )
        self.pid = self._process.pid
        opening = _opening(search)
        for work in (lambda: self._write(opening), self._read):
            threading.Thread(target=work, name="search-process", daemon=True).start()

    def feed(self, trial: PastTrial) -> None:
        self._lines.put(_line(kind="trial", trial=trial.to_dict()))

    def ask(self, number: int) -> None:
        self._lines.put(_line(kind="ask", number=number))

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
        except OSError:  # it is gone, as its reader hears
            pass

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in pipe:
                self._heard(json.loads(line))
        self._lines.put(None)
        self._process.wait()
        self._heard({"kind": "gone"})


def _opening(search: Search) -> Iterator[str]:
    """All that the search knows now, made line by line as the process reads: its thread does not wait for that."""
    spec, earlier, trials = search.spec.to_json(), search.earlier, search.all_remembered()

    def lines() -> Iterator[str]:
        yield _line(spec=spec, earlier=[trial.to_dict() for trial in earlier])
        for trial in trials:
            yield _line(kind="trial", trial=trial.to_dict())

    return lines()


def _line(**message: Any) -> str:
    return json.dumps(message) + "\n"


class Proposer:
    """Proposals of a search process, one at a time; starts it, and again when it ends, but not for ever.

    A proposal that comes late is kept for the next trial. Used in one thread; `heard` must be called there.
    """

    STARTS = 3  # then sweeps go on at random, or fail: it may be what takes the machine's memory

    def __init__(
        self,
        search: Search,
        post: Callable[[Heard, dict[str, Any]], None],
        open_process: OpenProcess = SearchProcess,
    ) -> None:
        self._search = search
        self._post = post
        self._open = open_process
        self._process: Process | None = None
        self._starts = 0
        self._asked: int | None = None
        self.proposal: Planned | None = None  # made, and not taken
        self.ready = False
        self.started_s = self.ready_s = math.inf
        self.exhausted = False  # said instead of a proposal, and not taken
        self.unusable = ""  # why the sampler's class cannot be used
        self.error = ""  # of the last proposal that failed, until it was taken

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def hopeless(self) -> bool:
        """Whether it ended too often, and is not started again."""
        return self._process is None and self._last

    @property
    def _last(self) -> bool:
        return self._starts >= self.STARTS

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._process is not None or self._last:
            return
        start = self._starts + 1
        try:
            self._process = self._open(
                self._search, lambda message: self._post(lambda heard: self._hear(start, heard), message)
            )
        except OSError as error:
            self.error = f"no search process could be started: {error}"
        else:
            self._starts = start
            self.started_s = time.perf_counter()

    def feed(self, number: int) -> None:
        """A trial has changed."""
        if self._process is not None:
            self._process.feed(self._search.remembered(number))

    def ask(self) -> None:
        """Have the next trial proposed, unless one is being proposed, or there is a proposal already."""
        if (
            self._process is not None
            and self.ready
            and self._asked is None
            and self.proposal is None
            and not self.exhausted
        ):
            self._asked = len(self._search)
            self._process.ask(self._asked)

    def take(self) -> Planned | None:
        """The proposal, if there is one."""
        proposal, self.proposal = self.proposal, None
        return proposal

    def take_exhausted(self) -> bool:
        """Whether it said that nothing is left to try."""
        exhausted, self.exhausted = self.exhausted, False
        return exhausted

    def take_error(self) -> str:
        error, self.error = self.error, ""
        return error

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _hear(self, start: int, message: dict[str, Any]) -> None:
        if start != self._starts or self._process is None:
            return  # from one before
        if message["kind"] == "ready":
            self.ready, self.ready_s = True, time.perf_counter()
        elif message["kind"] == "unusable":
            self.unusable = message["error"]
        elif message["kind"] == "gone":
            log.warning(
                "the search process has ended; %s",
                "it is not started again" if self._last else "it is started again",
            )
            self._process, self._asked, self.ready = None, None, False
        else:
            self._asked = None
            if message["kind"] == "failed":
                self.error = message["error"]
            elif message["kind"] == "exhausted":
                self.exhausted = True
            else:
                self.proposal = Planned(message["number"], message["params"], self._search.label, message["attributes"])
