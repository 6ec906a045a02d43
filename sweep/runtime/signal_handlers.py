"""Sets the signal handlers of a forked process; processes of the template.

`signal.signal` converts the handler that was set before to an enum, which fails for a function: together with the pages
that this copies, three calls took 5 % of the processor time of a trial.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # for the handlers of `signal`, which has no other way to them
from collections.abc import Callable
from typing import Any

DEFAULT = _signal.SIG_DFL
IGNORE = _signal.SIG_IGN
raise_keyboard_interrupt = _signal.default_int_handler


def set_signal_handler(number: int, handler: Callable[..., Any] | int) -> None:
    """As `signal.signal`, without a result. `handler`: a function, `DEFAULT` or `IGNORE`."""
    _signal.signal(number, handler)
