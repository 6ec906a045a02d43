"""The words of a filter: `state:failed lr<0.01 -tag:bad` as terms with their positions in the text; pure, api."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from podium.sweep.values.errors import FilterError

MAX_TERMS = 50
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"<>=!:,]+(?:![^=\s"<>:,][^\s"<>=!:,]*)*')
# A figure of a metric: `min(val_loss)`, `last("val loss")`.
_FIGURE = re.compile(
    r'(last_step|min_step|max_step|non_finite|last|min|max)\(("(?:[^"\\]|\\.)*"|[^\s"<>=!:,()]+)\)(?=\s*[:<>=!])'
)
_OPERATOR = re.compile(r":|\s*(<=|>=|!=|==|<|>|=)")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s",]+')


@dataclass(frozen=True, slots=True)
class Value:
    """An operand as written; `quoted`: always a string."""

    text: str
    quoted: bool
    position: int
    length: int

    @property
    def number(self) -> float | None:
        """The number; None for a string."""
        return None if self.quoted else _number(self.text)

    @property
    def range(self) -> tuple[float | None, float | None] | None:
        """`1e-4..1e-2`, where either end may be omitted; both are inclusive. None if it is not a range."""
        low, dots, high = self.text.partition("..")
        if self.quoted or not dots or not (low or high):
            return None
        ends = _number(low), _number(high)
        return None if (low and ends[0] is None) or (high and ends[1] is None) else ends

    def wrong(self, message: str) -> FilterError:
        """An error at the position of the operand."""
        return FilterError(message, self.position, self.length)


@dataclass(frozen=True, slots=True)
class Term:
    """A condition; `name` and `operator` are empty for a search word.

    `figure`: of the metric with this name, such as `min`.
    """

    name: str
    operator: str
    values: tuple[Value, ...]
    negated: bool
    position: int
    length: int  # of the name or word
    figure: str = ""

    def wrong(self, message: str) -> FilterError:
        """An error at the position of the name."""
        return FilterError(message, self.position, self.length)


def parse_terms(text: str) -> list[Term]:
    """The terms of a filter, in order. Raises `FilterError`."""
    found: list[Term] = []
    at = _skip(text, 0)
    while at < len(text):
        if len(found) == MAX_TERMS:
            raise FilterError(f"a filter has at most {MAX_TERMS} terms", at, len(text) - at)
        term, at = _term(text, at)
        found.append(term)
        at = _skip(text, at)
    return found


def _term(text: str, at: int) -> tuple[Term, int]:
    start = at
    negated = text[at] == "-" and at + 1 < len(text) and not text[at + 1].isspace()
    at += negated
    if re.match(r"#\d+(?=\s|$)", text[at:]):
        end = _WORD.match(text, at).end()  # type: ignore[union-attr]  # matched above
        return Term(
            name="number",
            operator=":",
            values=(Value(text[at + 1 : end], False, at + 1, end - at - 1),),
            negated=negated,
            position=at,
            length=1,
        ), end
    figure = _FIGURE.match(text, at)
    name = figure or _NAME.match(text, at)
    operator = _OPERATOR.match(text, name.end()) if name else None
    if name is None or operator is None:
        return _word(text, at, start, negated)
    sign = operator.group(1) or ":"
    values, end = _values(text, _skip(text, operator.end()), text[name.start() : operator.end()])
    plain = _unquoted(figure.group(2) if figure else name.group())
    return Term(
        name=plain,
        operator="=" if sign == "==" else sign,
        values=values,
        negated=negated,
        position=name.start(),
        length=len(name.group()),
        figure=figure.group(1) if figure else "",
    ), end


def _word(text: str, at: int, start: int, negated: bool) -> tuple[Term, int]:
    match = _WORD.match(text, at)
    if match is None:
        raise FilterError("unclosed quotation mark", at, len(text) - at)
    word = match.group()
    if word[0] in "<>=!:,":
        raise FilterError(f"write the name of a column before {word[0]!r}", at, match.end() - at)
    value = Value(_unquoted(word), True, match.start(), len(word))
    return Term(
        name="", operator="", values=(value,), negated=negated, position=start, length=match.end() - start
    ), match.end()


def _values(text: str, at: int, before: str) -> tuple[tuple[Value, ...], int]:
    found: list[Value] = []
    while True:
        match = _VALUE.match(text, at)
        if match is None and text[at : at + 1] == '"':
            raise FilterError("unclosed quotation mark", at, len(text) - at)
        if match is None:
            raise FilterError(f"missing value after {before}", max(0, at - 1), 1)
        word = match.group()
        found.append(Value(_unquoted(word), word[0] == '"', match.start(), len(word)))
        at = match.end()
        if text[at : at + 1] != ",":
            return tuple(found), at
        at = _skip(text, at + 1)


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if word[0] == '"' else word


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # also matches an empty string


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None
