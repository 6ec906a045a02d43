"""How a user's function is named, `module:function`, and which modules of a user's cannot be; pure, every process."""

from __future__ import annotations

import re

REFERENCE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"  # module:function
RESERVED_MODULES = ("podium",)  # imported in every trial and ensemble worker, so a user's module would be hidden
_REFERENCE = re.compile(REFERENCE)


def is_reference(text: str) -> bool:
    """Whether it names a function, and in no module of ours."""
    return _REFERENCE.fullmatch(text) is not None and not is_reserved(text.partition(":")[0])


def is_reserved(module: str) -> bool:
    """Whether a module, `package.module` say, would lie in a package of ours."""
    return module.split(".")[0] in RESERVED_MODULES


def instance_instead(name: str) -> str:
    """What to say where a class is named: only its instances can be called with a trial."""
    made = name.lower() if name.lower() != name else f"the_{name}"
    return f"{name} is a class; write `{made} = {name}(…)` below it, and name {made!r} as the function"
