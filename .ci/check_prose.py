"""Find words that the glossary replaces: `check_prose.py [PATH ...]`, run by `make check`.

Reads Markdown outside code and generated tables; docstrings, messages and, if configured, comments of Python;
strings, JSX text and comments of TypeScript; comments of YAML, TOML and make, and what make prints. Words and
default paths are in prose.toml. Prints `file:line: word -> write ...` for each finding, and exits with 1 if there are
any.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = ROOT / ".ci" / "prose.toml"
READ = frozenset({".md", ".py", ".ts", ".tsx", ".yaml", ".yml", ".toml"})
SKIPPED = frozenset({"__pycache__", "node_modules", "static", "site", "dist", "out", "schema.d.ts"})

Piece = tuple[int, str]  # a line number, and the text that starts there

_CODE_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.DOTALL)  # checked where it is written
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
_HASH_COMMENT = re.compile(r"(?:^|\s)#\s(.*)$", re.MULTILINE)
_MAKE_MESSAGE = re.compile(r"^\t@?echo '(.*)'$", re.MULTILINE)
_SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)
_SCRIPT_STRING = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""")
_JSX_TEXT = re.compile(r"(?<=[>}])[^<>{}=;()]*[a-z]{2}[^<>{}=;()]*(?=[<{])")


@dataclass(frozen=True, slots=True)
class Word:
    """A pattern that must not occur, and what to write instead."""

    pattern: re.Pattern[str]
    write: str

    @classmethod
    def of(cls, pattern: str, write: str) -> Word:
        """Matches complete words, ignoring case and the kind of whitespace."""
        spaced = pattern.replace(" ", r"\s+")
        return cls(re.compile(rf"(?<![\w-])(?:{spaced})(?![\w-])", re.IGNORECASE), write)


@dataclass(frozen=True, slots=True)
class Rules:
    """The content of prose.toml."""

    words: tuple[Word, ...]
    paths: tuple[str, ...]
    comments: bool

    @classmethod
    def read(cls, path: Path = WORDS) -> Rules:
        """Raises `re.error` if a pattern is not a regular expression."""
        content = tomllib.loads(path.read_text())
        words = tuple(Word.of(entry["not"], entry["write"]) for entry in content["words"])
        return cls(words, tuple(content["paths"]), bool(content["comments"]))


def findings(path: Path, rules: Rules) -> Iterator[tuple[int, str, str]]:
    """Line, word and replacement of each finding in a file, in order."""
    found = []
    for line, text in pieces(path, rules.comments):
        for word in rules.words:
            for match in word.pattern.finditer(text):
                at = line + text.count("\n", 0, match.start())
                found.append((at, " ".join(match.group().split()), word.write))
    yield from sorted(set(found))


def pieces(path: Path, comments: bool) -> Iterator[Piece]:
    """The prose of a file."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 1, _markdown(text)
    elif path.suffix == ".py":
        yield from _python(text, comments)
    elif path.suffix in (".ts", ".tsx"):
        yield from _script(text, comments)
    elif path.name == "Makefile":
        yield from _make(text, comments)
    elif comments:
        yield from ((_line(text, found.start(1)), found[1]) for found in _HASH_COMMENT.finditer(text))


def _blank(match: re.Match[str]) -> str:
    """The same number of lines without words, so that a phrase never spans removed text."""
    return "\n" * match.group().count("\n") or "\N{BULLET}"


def _markdown(text: str) -> str:
    without_blocks = _CODE_BLOCK.sub(_blank, _GENERATED.sub(_blank, text))
    return _INLINE_CODE.sub(_blank, _LINK_TARGET.sub("]", without_blocks))


def _python(text: str, comments: bool) -> Iterator[Piece]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\s", node.value):
            yield node.lineno, _INLINE_CODE.sub(_blank, node.value)
    if comments:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], _INLINE_CODE.sub(_blank, token.string)


def _script(text: str, comments: bool) -> Iterator[Piece]:
    if comments:
        for found in _SCRIPT_COMMENT.finditer(text):
            yield _line(text, found.start()), found.group()
    code = _SCRIPT_COMMENT.sub(_blank, text)
    for found in _SCRIPT_STRING.finditer(code):
        yield _line(code, found.start()), found.group()[1:-1]
    for found in _JSX_TEXT.finditer(_SCRIPT_STRING.sub('""', code)):
        yield _line(code, found.start()), found.group()


def _make(text: str, comments: bool) -> Iterator[Piece]:
    for pattern in (_MAKE_MESSAGE, *([_HASH_COMMENT] if comments else [])):
        yield from ((_line(text, found.start(1)), found[1]) for found in pattern.finditer(text))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def files(names: list[str]) -> Iterator[Path]:
    """Every file of these files and folders, generated files left out."""
    for name in names:
        path = ROOT / name
        if not path.exists():
            raise FileNotFoundError(f"{name}: no such file or folder")
        if path.is_file():
            yield path
            continue
        for each in sorted(path.rglob("*")):
            if each.suffix in READ and not SKIPPED.intersection(each.relative_to(path).parts):
                yield each


def main(arguments: list[str]) -> int:
    """Check the named paths, or those of prose.toml."""
    rules = Rules.read()
    count = 0
    for path in files(arguments or list(rules.paths)):
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, word, write in findings(path, rules):
            count += 1
            print(f"{shown}:{line}: {word} -> write: {write}")
    if count:
        print(f"{count} words that the glossary replaces (.ci/prose.toml)", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
