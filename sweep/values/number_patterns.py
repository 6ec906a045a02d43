"""Regular expressions for numbers in printed text: `auto`, `${number}`, truncated matches; api and trial process."""

from __future__ import annotations

import re

AUTO = "auto"  # instead of a pattern: the metric's name, followed by a number
NUMBER = "${number}"  # in a pattern: a group that matches a complete number with sign and exponent, nan or inf
_NON_FINITE = r"[-+]?(?i:nan|inf(?:inity)?)"
_FINITE = r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+"
_LEFT = r"(?<![\w.])"
_RIGHT = r"(?!\w|\.\d)"
_UNIT = r"(?=m?s\b)"  # 3.2s and 12ms are numbers, but 5k is not 5
_GROUP = rf"({_LEFT}(?:{_FINITE}(?:{_UNIT}|{_RIGHT})|{_NON_FINITE}{_RIGHT}))"
# Values that a group of digits does not match: nan, infinities, signed numbers.
_SKIPPED_GROUP = rf"({_LEFT}(?:{_NON_FINITE}|(?=[-+]){_FINITE}){_RIGHT})"

_SEPARATORS = re.compile(r"[\s_./-]+")
_VALIDATION = frozenset({"val", "valid", "validation"})
# "train loss 0.5" and "best loss 0.1" are not values of the metric `loss`.
_QUALIFIERS = (
    "train", "training", "val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev", "best",
)  # fmt: skip
_BETWEEN = r"""["']?(?:[ \t]{0,20}(?:[:=|│┃]|[-=]>)[ \t]{0,20}|[ \t]{1,20})(?:np\.float\d\d\(|tensor\()?"""

_THOUSANDS = re.compile(r",\d{3}(?!\d)")
_EXPONENT = re.compile(r"[eE][-+]?\d")
_AROUND = re.compile(r"[-+\w.,]*")


def expand_pattern(pattern: str, name: str) -> str:
    """The regular expression for `auto` or a pattern with `${number}`."""
    if pattern == AUTO:
        return _auto(name)
    return pattern.replace(NUMBER, _GROUP)


def _auto(name: str) -> str:
    """The name, in any case, with one of ` _-./` between its words; then `:`, `=`, `|`, `->` or a space; a number."""
    words = [word for word in _SEPARATORS.split(name) if word]
    written = "[ _./-]".join(_word(word) for word in words) or re.escape(name)
    others = "".join(rf"(?<!\b{word}[ \t])" for word in _QUALIFIERS)
    return rf"(?<![\w./-]){others}(?i:{written}){_BETWEEN}{_GROUP}"


def _word(word: str) -> str:
    return "val(?:id(?:ation)?)?" if word.lower() in _VALIDATION else re.escape(word)


def with_number(pattern: str, group: int) -> str | None:
    """The pattern with `${number}` instead of a group; None if the result is not a valid pattern."""
    return _replaced(pattern, group, NUMBER, _GROUP)


def skipped_number_pattern(pattern: str, group: int) -> str | None:
    """The pattern with a group for nan, infinities and signed numbers; None if the result is not a valid pattern.

    A pattern like `loss ([0-9.]+)` does not match these, so that the last value would be outdated.
    """
    return _replaced(pattern, group, _SKIPPED_GROUP, _SKIPPED_GROUP)


def _replaced(pattern: str, group: int, text: str, tried: str) -> str | None:
    place = _place_of(pattern, group)
    if place is None:
        return None
    start, end = place
    try:
        re.compile(pattern[:start] + tried + pattern[end:])
    except (re.error, RecursionError, OverflowError):
        return None
    return pattern[:start] + text + pattern[end:]


def _place_of(pattern: str, group: int) -> tuple[int, int] | None:
    """The position of a capturing group in the text of a pattern, including its parentheses."""
    open_groups: list[tuple[int, int]] = []  # number, or 0 for a non-capturing group; start
    count = position = 0
    in_class = -1  # start of the character class
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif in_class >= 0:
            if character == "]" and pattern[in_class + 1 : position] not in ("", "^"):
                in_class = -1
        elif character == "[":
            in_class = position
        elif character == "(":
            captures = pattern[position + 1 : position + 2] != "?" or pattern.startswith("?P<", position + 1)
            count += captures
            open_groups.append((count if captures else 0, position))
        elif character == ")" and open_groups:
            number, start = open_groups.pop()
            if number == group:
                return start, position + 1
        position += 1
    return None


def truncated_number(line: str, start: int, end: int) -> str | None:
    """The complete number, if the text between `start` and `end` is only a part of it, else None."""
    text = line[start:end].strip()
    start = line.index(text, start) if text else start
    end = start + len(text)
    if not text or not (_continues(text, line[end:]) or _starts_before(text, line[:start])):
        return None
    while start > 0 and re.match(r"[-+\w.]", line[start - 1]):
        start -= 1
    around = _AROUND.match(line, start)
    return around[0].rstrip(".,") if around is not None else text


def _continues(text: str, after: str) -> bool:
    """Whether the following text belongs to the same number."""
    if not text[-1].isdigit() and text[-1] != ".":
        return text[-1] in "eE+-" and text[0] in "+-.0123456789" and after[:1].isdigit()
    if after[:1].isdigit() or _EXPONENT.match(after) or (text[-1] != "." and re.match(r"\.\d", after)):
        return True
    return _THOUSANDS.match(after) is not None and re.fullmatch(r"[-+]?\d{1,3}", text) is not None


def _starts_before(text: str, before: str) -> bool:
    """Whether the preceding text belongs to the same number: digits, a decimal point, or a leading sign."""
    if not text[0].isdigit() and text[0] != ".":
        return False
    return re.search(r"\d\.?$|\d[eE][-+]?$|(?:^|[\s:=(\[,])[-+]\.?$|(?:^|\W)\.$", before) is not None
