"""Encodes frozen dataclasses as JSON objects with a `kind`, and decodes them; every process that runs trials.

A `Codec` holds the message types of one direction of one link. On the wire, `kind` names the type and every other
member is a field. Only fields of the types in `_CONVERSIONS`, and of those that a link adds, need more than JSON's own
types. Standard library only: the fork server pays for this import, and every trial process for each encoded message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, Generic, TypeVar, get_type_hints

from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState
from podium.sweep.values.usage_samples import UsageSample

Message = TypeVar("Message")
Convert = Callable[[Any], Any]
Conversions = Mapping[Any, tuple[Convert | None, Convert]]  # by the type of a field: to JSON and from JSON


@dataclass(frozen=True, slots=True)
class DeviceView:
    """The device of a slot as its processes must see it."""

    visible: str  # CUDA_VISIBLE_DEVICES; "" hides every GPU from a CPU slot
    uuid: str | None  # of the GPU; None on a CPU slot or a simulated GPU


def key_to_json(key: AttemptKey) -> list[int]:
    return [key.trial_id, key.attempt]


def key_from_json(value: Any) -> AttemptKey:
    trial_id, attempt = value
    return AttemptKey(trial_id, attempt)


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _rows(samples: tuple[UsageSample, ...]) -> list[list[float | None]]:
    return [sample.row for sample in samples]


def _samples(rows: list[list[Any]]) -> tuple[UsageSample, ...]:
    return tuple(UsageSample(*row) for row in rows)


_CONVERSIONS: Conversions = {
    AttemptKey: (key_to_json, key_from_json),
    AttemptKey | None: (_optional(key_to_json), _optional(key_from_json)),
    Assignment: (Assignment.to_dict, Assignment.from_dict),
    tuple[UsageSample, ...]: (_rows, _samples),
    DeviceView: (asdict, lambda value: DeviceView(**value)),
    Cause: (None, Cause),
    Cause | None: (None, _optional(Cause)),
    TrialState: (None, TrialState),
}


class _Layout:
    """The fields of one message type, and which of them are converted."""

    def __init__(self, kind: str, cls: type[Any], omitted: frozenset[str], by_type: Conversions) -> None:
        hints = get_type_hints(cls)
        conversions = {each.name: by_type.get(hints[each.name], (None, None)) for each in fields(cls)}
        self.kind = kind
        self.cls = cls
        self.omitted = omitted & conversions.keys()
        self.to_json = [(name, convert) for name, (convert, _) in conversions.items() if name not in omitted]
        self.from_json = [(name, convert) for name, (_, convert) in conversions.items() if convert is not None]


class Codec(Generic[Message]):
    """The messages of one direction of one link.

    Args:
        types: The message types by kind.
        omitted: Fields that both ends of the link know, and that are not sent, such as the `key` of an attempt.
        conversions: Of the types of fields that only this link has.
    """

    def __init__(
        self,
        types: Mapping[str, type[Message]],
        omitted: frozenset[str] = frozenset(),
        conversions: Conversions = MappingProxyType({}),
    ) -> None:
        by_type = {**_CONVERSIONS, **conversions}
        layouts = [_Layout(kind, cls, omitted, by_type) for kind, cls in types.items()]
        self._by_kind = {layout.kind: layout for layout in layouts}
        self._by_type = {layout.cls: layout for layout in layouts}

    def to_json(self, message: Message) -> dict[str, Any]:
        """The message as a JSON object."""
        layout = self._by_type[type(message)]
        encoded: dict[str, Any] = {"kind": layout.kind}
        for name, convert in layout.to_json:
            value = getattr(message, name)
            encoded[name] = value if convert is None else convert(value)
        return encoded

    def from_json(self, values: Any, **known: Any) -> Message:
        """The inverse of `to_json`; `known` are the values of the omitted fields.

        Raises `ValueError` for anything that is not an object, has an unknown kind, or has missing or unknown fields.
        """
        if not isinstance(values, dict):
            raise ValueError(f"expected a JSON object, got {values!r:.100}")
        given = dict(values)
        kind = given.pop("kind", None)
        layout = self._by_kind.get(kind) if isinstance(kind, str) else None
        if layout is None:
            raise ValueError(f"unknown kind of message: {kind!r:.100}")
        if layout.omitted & given.keys():
            raise ValueError(f"{kind}: unexpected fields: {', '.join(sorted(layout.omitted & given.keys()))}")
        try:
            for name, convert in layout.from_json:
                if name in given:
                    given[name] = convert(given[name])
            message: Message = layout.cls(**given, **{name: known[name] for name in layout.omitted})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{kind}: {type(error).__name__}: {error}") from None
        return message
