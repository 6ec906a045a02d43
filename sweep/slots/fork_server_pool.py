"""The fork servers of one slot: one without packages, and one for each recent `program.preload`; slot."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.sweep.slots.fork_server_client import PRELOAD_S, ForkServerClient, ForkServerClientReply

MAX_PRELOADED = 2  # fork servers with packages; each takes memory


class ForkServerPool:
    """Keeps the fork server of the current attempt, and the most recently used ones.

    `on_reply` gets the replies of the current fork server only. `preload_s`: seconds that the imports of packages may
    take.
    """

    def __init__(
        self,
        visible: str,
        on_reply: Callable[[ForkServerClientReply], None],
        template: Callable[[], Path],
        preload_s: float = PRELOAD_S,
    ) -> None:
        self._visible = visible
        self._on_reply = on_reply
        self._template = template
        self._preload_s = preload_s
        self._preloaded: OrderedDict[tuple[str, ...], ForkServerClient] = OrderedDict()  # by packages, newest last
        self._plain = self.current = self._new(())

    async def select(self, preload: Sequence[str] = ()) -> None:
        """Make the fork server with these packages the current one, and wait until it is ready.

        Raises `UserCodeError` and `OSError`.
        """
        names = tuple(sorted(set(preload)))
        self.current = self._with_packages(names) if names else self._plain
        await self.current.ready()

    def _with_packages(self, names: tuple[str, ...]) -> ForkServerClient:
        server = self._preloaded.pop(names, None) or self._new(names)
        self._preloaded[names] = server
        if len(self._preloaded) > MAX_PRELOADED:
            _, oldest = self._preloaded.popitem(last=False)
            oldest.kill()
        return server

    def _new(self, names: tuple[str, ...]) -> ForkServerClient:
        def on_reply(reply: ForkServerClientReply) -> None:
            if server is self.current:
                self._on_reply(reply)

        server = ForkServerClient(self._visible, on_reply, self._template, names, self._preload_s)
        return server
