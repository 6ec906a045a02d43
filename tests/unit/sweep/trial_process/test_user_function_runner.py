"""The first parameter of a user's function, and functions that cannot be called with one argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from podium.sweep.trial_process.user_function_runner import check_one_argument
from podium.sweep.values.errors import UserCodeError


def one(trial: Any) -> None: ...


def with_defaults(config: Any, epochs: int = 3, *, seed: int = 0) -> None: ...


def any_number(*trials: Any) -> None: ...


def positional_only(trial: Any, /, **rest: Any) -> None: ...


def default_first(trial: Any = None) -> None: ...


def two(trial: Any, data: Any) -> None: ...


def needs_keyword(trial: Any, *, data: Any) -> None: ...


def nothing() -> None: ...


def only_keyword(*, trial: Any) -> None: ...


@functools.wraps(one)
def wraps_one(*args: Any, **rest: Any) -> None: ...


@functools.wraps(two)
def wraps_two(trial: Any) -> None: ...


def declares_config(trial: Any) -> None: ...


declares_config.__signature__ = inspect.signature(with_defaults)  # type: ignore[attr-defined]


class Method:
    def objective(self, trial: Any) -> None: ...

    def __call__(self, config: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (one, "trial"),
        (with_defaults, "config"),
        (any_number, "trials"),
        (positional_only, "trial"),
        (default_first, "trial"),
        (wraps_one, "trial"),
        (declares_config, "config"),
        (Method().objective, "trial"),
        (Method(), "config"),
        (lambda cfg: cfg, "cfg"),
        (functools.partial(two, data=1), "trial"),
    ],
)
def test_first_parameter_is_named_as_its_signature_says(function: Callable[..., Any], first: str) -> None:
    assert check_one_argument(function, "objective", "trial") == first
    assert next(iter(inspect.signature(function).parameters)) == first


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (two, "requires data in addition"),
        (wraps_two, "requires data in addition"),
        (needs_keyword, "requires data in addition"),
        (nothing, "takes no argument"),
        (only_keyword, "takes no argument"),
    ],
)
def test_function_that_cannot_take_one_argument_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(UserCodeError, match=reason):
        check_one_argument(function, "objective", "trial")
