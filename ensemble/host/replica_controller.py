"""Keeps a worker on every post: takes over, places, watches, replaces, ends; host process.

What it does is in the database before it is done, so that the next host finds every process by its name: a post's
epoch is one higher for each process that was ever started for it.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from podium.db.schema.engine import Database
from podium.db.stores import devices, ensemble_changes, ensembles, replicas
from podium.ensemble.building.trial_outputs import model_path
from podium.ensemble.host import placement
from podium.ensemble.host.placement import Place
from podium.ensemble.host.replica_spec import Post, PostKey
from podium.ensemble.host.worker_port import Phase, Sight, Worker, WorkerPlan, Workers
from podium.ensemble.values.ensemble_spec import HOLDING, MemberState, Mode, Placement
from podium.ensemble.worker.network import ModelFile
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.component import wake
from podium.sweep.runtime.settings import ServiceSettings, cores
from podium.sweep.values.errors import DatabaseError, EnsembleError

START_S = 60.0  # until there is a process
LOAD_S = 120.0  # from then until its networks are loaded and warm
HUNG_S = 30.0  # without an answer
FIRST_RESTART_S = 0.2  # doubled with each death in a row, up to the next line
MAX_RESTART_S = 30.0
SETTLED_S = 60.0  # a worker that was ready so long begins a new row of deaths
MIN_DRAIN_S = 2.0  # the gateway may need a second to hear that a version is not wanted
MAX_DRAIN_S = 60.0
_PLACED = frozenset({MemberState.STARTING, MemberState.WARMING, MemberState.READY})
log = logging.getLogger("podium.keeper")


def restart_s(deaths: int, jitter: float) -> float:
    """How long to wait after so many deaths in a row; `jitter` in [0, 1) keeps workers that died together apart.

    Brooker, "Exponential backoff and jitter", 2015: "equal jitter".
    """
    return float(min(FIRST_RESTART_S * 2 ** min(deaths - 1, 20), MAX_RESTART_S)) * (0.5 + jitter / 2)


@dataclass(slots=True)
class _Life:
    """A post as it was last wanted, and the process on it."""

    post: Post
    worker: Worker | None = None
    phase: Phase = Phase.STARTING
    since_s: float = 0.0  # when the phase began
    sharing: list[str] = field(default_factory=list)  # by member
    deaths: int = 0  # in a row
    due_s: float = 0.0  # not before this is another process started
    unwanted_s: float | None = None  # since when nobody wants it

    @property
    def drain_s(self) -> float:
        """How long requests may still be under way once the post is not wanted any more."""
        return min(max(self.post.version.deadline_ms / 1000, MIN_DRAIN_S), MAX_DRAIN_S)


class Keeper:
    """See the module."""

    def __init__(
        self, settings: ServiceSettings, database: Database, workers: Workers, clock: Clock,
        on_news: Callable[[], None], jitter: Callable[[], float] = random.random,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._database = database
        self._workers = workers
        self._clock = clock
        self._on_news = on_news
        self._jitter = jitter
        self._lives: dict[PostKey, _Life] = {}
        self._begun = False

    def tend(self, posts: Sequence[Post], running: Collection[int]) -> bool:
        """Act on the difference between what is wanted and what is there; whether the database changed.

        `running` are the replicas that the database does not call stopped.
        """
        if not self._begun:
            self._workers.end_all_but({post.name(post.epoch) for post in posts if post.state in _PLACED})
            self._begun = True
        changed = self._let_go(posts, running)
        for post in posts:
            changed |= self._tend(post)
        return changed

    def _tend(self, post: Post) -> bool:
        """What goes wrong on one post holds up no other."""
        try:
            life = self._lives.get(post.key) or self._take_over(post)
            life.post, life.unwanted_s = post, None
            return self._fill(life) if life.worker is None else self._watch(life, life.worker)
        except DatabaseError:
            raise
        except Exception:
            log.exception("%s cannot be tended; trying again", post.name(post.epoch))
            return False

    def rest_s(self, at_most: float) -> float:
        """How long nothing is due."""
        due_s = [life.due_s - self._clock.monotonic_s() for life in self._lives.values() if life.worker is None]
        return max(0.0, min([at_most, *(wait_s for wait_s in due_s if wait_s > 0)]))

    # Posts that are not wanted any more.

    def _let_go(self, posts: Sequence[Post], running: Collection[int]) -> bool:
        """End what has drained; replicas that then are nobody's are stopped, whoever left them."""
        wanted = {post.key for post in posts}
        for key, life in [(key, life) for key, life in self._lives.items() if key not in wanted]:
            if self._has_drained(life):
                if life.worker is not None:
                    life.worker.kill()
                del self._lives[key]
        kept = {replica.id for post in posts for replica in post.replicas}
        kept |= {replica.id for life in self._lives.values() for replica in life.post.replicas}
        nobodys = [replica_id for replica_id in running if replica_id not in kept]
        if nobodys:
            with self._database.write() as connection:
                for replica_id in nobodys:
                    replicas.change(
                        connection, replica_id, MemberState.STOPPED, device_id=None, node=None, pid=None, endpoint=None
                    )
        return bool(nobodys)

    def _has_drained(self, life: _Life) -> bool:
        now_s = self._clock.monotonic_s()
        if life.unwanted_s is None:
            life.unwanted_s = now_s
        return life.worker is None or now_s - life.unwanted_s >= life.drain_s

    # Posts without a worker.

    def _take_over(self, post: Post) -> _Life:
        """A post that we see for the first time may have a worker from the host before us."""
        life = self._lives[post.key] = _Life(post, since_s=self._clock.monotonic_s())
        places = self._chosen_before(post, self._places(post))
        if post.epoch and post.state in _PLACED and places:
            life.sharing = [replica.reason for replica in post.replicas]
            life.worker = self._workers.find(self._plan(post, places, post.epoch), self._on_news)
        return life

    def _fill(self, life: _Life) -> bool:
        post = life.post
        if post.state is MemberState.FAILED or self._clock.monotonic_s() < life.due_s:
            return False
        chosen = self._choose(post)
        if not chosen:
            return self._wait(post, "no device is ready", [None] * len(post.replicas))
        taken = dict.fromkeys(place.device_id for place in chosen if not place.free_of_trials)
        if post.version.placement is Placement.DEDICATED and taken:
            return self._reserve(post, chosen, f"waiting for {', '.join(taken)} to be free of trials")
        self._start(life, chosen)
        return True

    def _choose(self, post: Post) -> list[Place]:
        places = [place for place in self._places(post) if place.usable]
        if post.version.placement is Placement.SHARED:
            return placement.shared(places, post.member_ids)
        reserved = self._chosen_before(post, places) if post.state in HOLDING else []
        return reserved or placement.dedicated(places, post.member_ids)

    def _reserve(self, post: Post, chosen: list[Place], reason: str) -> bool:
        """A device written down is set aside by the scheduler; we look again until it is free."""
        if not self._wait(post, reason, [place.device_id for place in chosen]):
            return False
        wake(self._settings.runtime.wake_socket("scheduler"))
        return True

    def _wait(self, post: Post, reason: str, device_ids: Sequence[str | None]) -> bool:
        state = MemberState.RESTARTING if post.state is MemberState.RESTARTING else MemberState.STARTING
        before = [(replica.state, replica.reason, replica.device_id) for replica in post.replicas]
        if before == [(state, reason, device_id) for device_id in device_ids]:
            return False
        with self._database.write() as connection:
            for replica, device_id in zip(post.replicas, device_ids, strict=True):
                replicas.change(connection, replica.id, state, reason, device_id=device_id, pid=None, endpoint=None)
        return True

    def _start(self, life: _Life, chosen: list[Place]) -> None:
        post = life.post
        plan = self._plan(post, chosen, post.epoch + 1)
        why = post.replicas[0].reason if post.state is MemberState.RESTARTING else ""
        with self._database.write() as connection:
            for replica, device_id in zip(post.replicas, plan.device_ids, strict=True):
                replicas.change(
                    connection, replica.id, MemberState.STARTING, why, device_id=device_id, node=plan.node, pid=None,
                    epoch=plan.epoch, endpoint=plan.endpoint,
                )  # fmt: skip
        life.phase, life.since_s = Phase.STARTING, self._clock.monotonic_s()
        life.sharing = placement.sharing(chosen, [member.id for member in post.version.members])
        try:
            life.worker = self._workers.place(plan, self._on_news)
        except EnsembleError as error:
            self._lose(life, str(error))

    def _plan(self, post: Post, places: Sequence[Place], epoch: int) -> WorkerPlan:
        version = post.version
        visible = list(dict.fromkeys(place.visible for place in places if place.visible))
        files = tuple(
            ModelFile(
                str(model_path(self._settings.data, member.files)),
                member.files.model_sha256 or "",
                visible.index(place.visible) if place.visible else 0,
                str(self._settings.data.root),
            )
            for member, place in zip(post.members, places, strict=True)
        )
        processes = sum(len(member.replicas) for member in version.members) // len(post.members)
        return WorkerPlan(
            name=post.name(epoch),
            files=files,
            device_ids=tuple(place.device_id for place in places),
            node=places[0].node,
            visible=",".join(visible),
            in_graph=version.mode is Mode.IN_GRAPH,
            endpoint=f"ipc://{self._settings.runtime.replica_socket(post.replicas[0].id, epoch)}",
            epoch=epoch,
            features=version.features,
            combination=version.combination.to_json(),
            precision=version.precision.value,
            threads=max(1, cores() // processes),
        )

    def _places(self, post: Post) -> list[Place]:
        """The devices, with what is on them beside this post."""
        mine = {replica.id for replica in post.replicas}
        on: dict[str | None, list[int]] = {}
        with self._database.read() as connection:
            found = devices.all_of(connection)
            dedicated = replicas.dedicated(connection)
            for row in ensembles.wanted(connection):
                for member in [member for version in row.versions.values() for member in version.members]:
                    for replica in member.replicas:
                        if replica.state in HOLDING and replica.id not in mine:
                            on.setdefault(replica.device_id, []).append(member.id)
        return [
            Place(
                device.id, device.kind, device.node, device.visible, tuple(on.get(device.id, ())),
                dedicated=device.id in dedicated, runs_trial=device.trial_id is not None,
                set_aside=device.state == "dedicated", usable=device.state in ("ready", "busy", "dedicated"),
            )
            for device in found
        ]  # fmt: skip

    @staticmethod
    def _chosen_before(post: Post, places: Sequence[Place]) -> list[Place]:
        """Where the database has the post's members; none when it has one of them nowhere that we know of."""
        known = {place.device_id: place for place in places}
        chosen = [known[replica.device_id] for replica in post.replicas if replica.device_id in known]
        return chosen if len(chosen) == len(post.replicas) else []

    # Posts with a worker.

    def _watch(self, life: _Life, worker: Worker) -> bool:
        sight = worker.look()
        if sight.phase is Phase.GONE:
            return self._lose(life, sight.reason)
        if sight.phase is Phase.BROKEN:
            return self._fail(life, sight.reason)
        now_s = self._clock.monotonic_s()
        if sight.phase is not life.phase:
            life.phase, life.since_s = sight.phase, now_s
            return self._advance(life, sight)
        if (reason := _overdue(sight, now_s - life.since_s)) is not None:
            return self._lose(life, reason)
        if sight.phase is Phase.READY and now_s - life.since_s >= SETTLED_S:
            life.deaths = 0
        return False

    def _advance(self, life: _Life, sight: Sight) -> bool:
        post = life.post
        if sight.phase is Phase.WARMING and post.state is MemberState.STARTING:
            self._write(post, MemberState.WARMING, post.replicas[0].reason)
            return True
        if sight.phase is not Phase.READY:
            return False
        with self._database.write() as connection:
            for replica, sharing in zip(post.replicas, life.sharing, strict=True):
                replicas.change(connection, replica.id, MemberState.READY, sharing, pid=sight.pid)
            if sight.plan and sight.plan != post.version.plan:
                ensemble_changes.set_plan(connection, post.key.ensemble_id, post.version.number, dict(sight.plan))
        return True

    def _lose(self, life: _Life, reason: str) -> bool:
        """The process is gone, or as good as gone: another one starts after a while."""
        life.deaths += 1
        wait_s = restart_s(life.deaths, self._jitter())
        log.warning("%s is gone (%s); another in %.1f s", life.post.name(life.post.epoch), reason, wait_s)
        life.due_s = self._clock.monotonic_s() + wait_s
        restarts = life.post.replicas[0].restarts + 1
        self._write(life.post, MemberState.RESTARTING, reason, pid=None, endpoint=None, restarts=restarts)
        self._end(life)
        return True

    def _fail(self, life: _Life, reason: str) -> bool:
        """Its networks cannot be loaded: another process could not either."""
        log.error("%s cannot be loaded: %s", life.post.name(life.post.epoch), reason)
        self._write(life.post, MemberState.FAILED, reason, pid=None, endpoint=None)
        self._end(life)
        return True

    def _end(self, life: _Life) -> None:
        if life.worker is not None:
            life.worker.kill()
            life.worker = None

    def _write(self, post: Post, state: MemberState, reason: str = "", **values: object) -> None:
        with self._database.write() as connection:
            for replica in post.replicas:
                replicas.change(connection, replica.id, state, reason, **values)


def _overdue(sight: Sight, age_s: float) -> str | None:
    """Why a worker is given up that shows no sign of its end."""
    if sight.phase is Phase.STARTING and age_s > START_S:
        return f"no process within {START_S:.0f} s"
    if sight.phase is Phase.WARMING and age_s > LOAD_S:
        return f"not loaded within {LOAD_S:.0f} s"
    if sight.phase is Phase.READY and sight.silent_s > HUNG_S:
        return f"no answer for {HUNG_S:.0f} s"
    return None
