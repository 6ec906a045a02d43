"""The templates of one slot: the plain one, and one for each set of packages that sweeps want preloaded; slot."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from podium.sweep.slots.process_template import Template

MAX_MORE = 2  # beside the plain one: each takes memory


class Templates:
    """Keeps the template of the current attempt, and those that were used last; `heard` hears of the current one."""

    def __init__(self, visible: str, heard: Callable[[dict[str, Any]], None]) -> None:
        self._visible = visible
        self._heard = heard
        self._more: OrderedDict[tuple[str, ...], Template] = OrderedDict()  # by what they preload, newest last
        self._plain = self.current = self._new(())

    async def choose(self, preload: Sequence[str] = ()) -> None:
        """Have the template with these packages be the current one, and warm. Raises `UserCodeError`, `OSError`."""
        names = tuple(sorted(set(preload)))
        self.current = self._plain if not names else self._of(names)
        await self.current.ready()

    def _of(self, names: tuple[str, ...]) -> Template:
        found = self._more.pop(names, None) or self._new(names)
        self._more[names] = found
        if len(self._more) > MAX_MORE:
            _, oldest = self._more.popitem(last=False)
            oldest.kill()
        return found

    def _new(self, names: tuple[str, ...]) -> Template:
        def heard(message: dict[str, Any]) -> None:
            if template is self.current:
                self._heard(message)

        def others() -> set[int]:
            every = (self._plain, *self._more.values())
            return {other.pid for other in every if other is not template and other.lives}

        template = Template(self._visible, heard, names, others)
        return template
