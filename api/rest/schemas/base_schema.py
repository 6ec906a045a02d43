"""The base of all response models, pages of items, and times as ISO 8601 in UTC; api."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


def time_of(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Page(BaseModel, Generic[Item]):
    """One page; pass `next` as `after` for the following one."""

    items: list[Item]
    next: int | None
