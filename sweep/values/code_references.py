"""References to user functions, `module:function`, and reserved module names; every process."""

from __future__ import annotations

import re

REFERENCE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"  # module:function
RESERVED_MODULES = ("podium",)  # imported in every trial and ensemble worker, so it would shadow a user's module
_REFERENCE = re.compile(REFERENCE)


def is_reference(text: str) -> bool:
    """Whether it is a valid reference to a function in a module that is not reserved."""
    return _REFERENCE.fullmatch(text) is not None and not is_reserved(text.partition(":")[0])


def is_reserved(module: str) -> bool:
    """Whether a module, such as `package.module`, is in a reserved package."""
    return module.split(".")[0] in RESERVED_MODULES


def instance_instead(name: str) -> str:
    """The message for a reference to a class: only its instances can be called with a trial."""
    made = name.lower() if name.lower() != name else f"the_{name}"
    return f"{name} is a class; write `{made} = {name}(…)` below it, and name {made!r} as the function"
