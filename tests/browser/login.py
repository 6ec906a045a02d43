"""Login links as a user gets them: what `podium serve` printed, and what `podium login` prints."""

from __future__ import annotations

import re
from pathlib import Path

from tests.running_service import podium, wait_for

_LINK = re.compile(r"https?://\S+/login#\S+")


def printed_link(log: Path) -> str:
    """The one that `podium serve` printed last."""
    return str(wait_for("the service printed a login link", lambda: _LINK.findall(log.read_text()))[-1])


def fresh_link(data_dir: Path) -> str:
    """A new one."""
    done = podium("login", "--data-dir", str(data_dir))
    found = _LINK.search(done.stdout)
    assert found is not None, f"`podium login` printed no link: {done.stdout}{done.stderr}"
    return found[0]
