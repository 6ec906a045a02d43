"""The interface of a handler that answers requests without ASGI, in the event loop's callback; gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from starlette.types import Scope

Respond = Callable[[int, bytes, bytes], None]
Cancel = Callable[[], None]


class HandlerWithoutAsgi(Protocol):
    """Answers the requests of an app that need no coroutine; the app's attribute `handler_without_asgi`."""

    def __call__(self, scope: Scope, body: bytes, respond: Respond) -> Cancel | None:
        """Begin to answer, and return what cancels it when the client disconnects; None: the app must answer.

        `respond` is called once with the status, the header lines except content-length, and the body; possibly before
        this call returns.
        """
