"""Finds the line of each key in a TOML text, which tomllib does not report; CLI."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

Location = tuple[str, ...]
_TOKENS = re.compile(
    r"""(?P<skip>[ \t\r]+|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<text>\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<mark>[\[\]{}=,.])
    |(?P<bare>[^\s\#"'\[\]{}=,.]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def lines_of(text: str) -> dict[Location, int]:
    """The line (from 1) of every key and list element, by its path; `text` must be valid TOML."""
    return _Lines(text).found


class _Lines:
    """A single pass over the tokens of a document that ignores values."""

    def __init__(self, text: str) -> None:
        self.found: dict[Location, int] = {}
        self._tables: dict[Location, int] = {}  # index of the last [[table]] of that name
        self._tokens = list(_tokens(text))
        self._next = 0
        self._document()

    def _document(self) -> None:
        table: Location = ()
        while (token := self._peek()) is not None:
            if token.kind == "newline":
                self._next += 1
            elif token.text == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Location:
        """Parses `[a.b]` or `[[a.b]]`; returns the table of the following keys."""
        line, brackets = self._take().line, 1
        if self._is("["):
            self._next, brackets = self._next + 1, 2
        table: Location = ()
        for part in self._key():
            table = self._newest((*table, part))
            self.found.setdefault(table, line)
        self._next += brackets
        if brackets == 1:
            return table
        plain = table[:-1] if table in self._tables_elements() else table
        count = self._tables[plain] = self._tables.get(plain, -1) + 1
        self.found[(*plain, str(count))] = line
        return (*plain, str(count))

    def _newest(self, table: Location) -> Location:
        """The last element, if the name is an array of tables."""
        return (*table, str(self._tables[table])) if table in self._tables else table

    def _tables_elements(self) -> set[Location]:
        return {(*table, str(count)) for table, count in self._tables.items()}

    def _pair(self, table: Location) -> None:
        token = self._peek()
        assert token is not None
        where = table
        for part in self._key():
            where = (*where, part)
            self.found.setdefault(where, token.line)
        self._next += 1  # the equals sign
        self._value(where)

    def _key(self) -> list[str]:
        parts = [_unquoted(self._take().text)]
        while self._is("."):
            self._next += 1
            parts.append(_unquoted(self._take().text))
        return parts

    def _value(self, where: Location) -> None:
        if self._is("["):
            self._list(where)
        elif self._is("{"):
            self._inline(where)
        else:
            while (token := self._peek()) is not None and token.kind != "newline" and token.text not in ",]}":
                self._next += 1

    def _list(self, where: Location) -> None:
        self._next, index = self._next + 1, 0
        while not self._is("]"):
            token = self._take()
            if token.text == ",":
                index += 1
            elif token.kind != "newline":
                self._next -= 1
                self.found[(*where, str(index))] = token.line
                self._value((*where, str(index)))
        self._next += 1

    def _inline(self, where: Location) -> None:
        self._next += 1
        while not self._is("}"):
            token = self._take()
            if token.kind != "newline" and token.text != ",":
                self._next -= 1
                self._pair(where)
        self._next += 1

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _is(self, text: str) -> bool:
        token = self._peek()
        return token is not None and token.text == text


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKENS.finditer(text):
        kind = str(match.lastgroup)
        if kind != "skip":
            yield _Token(kind, match.group(), line)
        line += match.group().count("\n")


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    return str(ast.literal_eval(key)) if key.startswith('"') else key
