"""MkDocs hooks: generated reference pages, pages from the root of the repository, and links between the two.

Named in mkdocs.yml. A page contains a marker such as `<!-- commands -->` where generated text belongs. A relative link
out of docs/ must name a file of the repository. If that file is a page of the site, the link leads there; otherwise
only its text is shown. A broken link is a warning, which the strict build turns into an error.
"""

from __future__ import annotations

import json
import logging
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.mkdocs_hooks")

ROOT = Path(__file__).parents[1]
OPENAPI_MODULE = "podium.api.rest.write_openapi"  # prints the OpenAPI document of the API

# Files outside docs/ that are pages of the site, and files that are only checked for broken links.
ROOT_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "deploy/README.md": "deploy.md",
    "examples/README.md": "examples.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/results.md": "benchmark-results.md",
}
CHECKED_ONLY = ("README.md",)

_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and check the links of files that are not pages."""
    for source, uri in ROOT_PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / source).read_text()))
    for name in CHECKED_ONLY:
        for target in links((ROOT / name).read_text()):
            check(target, Path(name))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace markers by generated text, then resolve links against the repository."""
    uri = page.file.src_uri
    for marker, generated in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, generated())
    return _outside_code(markdown, lambda text: _LINK.sub(lambda link: _resolved(link, uri), text))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied outside of fenced blocks."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def links(markdown: str) -> Iterator[str]:
    for link in _LINK.finditer(_CODE.sub("", _FENCE.sub("", markdown))):
        yield link["target"]


def _is_relative(target: str) -> bool:
    return not re.match(r"[a-z][a-z0-9+.-]*:|#|/", target)


def check(target: str, source: Path) -> None:
    """Warn if a relative link of `source` (a path in the repository) names no file."""
    path = target.partition("#")[0]
    if _is_relative(target) and not (ROOT / source.parent / path).exists():
        log.warning("%s: there is no file %s", source, target)


def _resolved(link: re.Match[str], uri: str) -> str:
    target = link["target"]
    if not _is_relative(target):
        return link.group()
    path, hash_mark, anchor = target.partition("#")
    source = {page: name for name, page in ROOT_PAGES.items()}.get(uri, f"docs/{uri}")
    named = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if not (ROOT / named).exists():
        log.warning("%s: there is no file %s", source, target)
        return link.group()
    page = ROOT_PAGES.get(named) or (named.removeprefix("docs/") if named.startswith("docs/") else None)
    if page is None or (ROOT / named).is_dir():
        return link["text"]
    there = posixpath.relpath(page, posixpath.dirname(uri) or ".")
    return f"{link['mark']}[{link['text']}]({there}{hash_mark}{anchor})"


# The command line.


def commands() -> str:
    """Each command with its usage, arguments and options."""
    (script,) = entry_points(group="console_scripts", name="podium")
    main = script.load()
    import typer

    root = typer.main.get_command(sys.modules[main.__module__].app)
    return "\n".join(_command(root, "podium", None))


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name, parent=parent)
    if parent is not None:
        yield from _command_section(command, context)
    if hasattr(command, "list_commands"):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            found = found.load() if hasattr(found, "load") else found
            if not found.hidden:
                yield from _command(found, each, context)


def _command_section(command: Any, context: Any) -> Iterator[str]:
    level = "###" if context.parent.parent is None else "####"
    yield f"{level} {context.command_path}\n"
    yield f"{(command.help or '').strip()}\n"
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"```\n{context.command_path} {pieces}\n```\n"
    rows = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    if rows := [row for row in rows if not row[0].startswith("--help")]:
        yield "| argument or option | |\n| --- | --- |"
        yield from (f"| `{_cell(names)}` | {_cell(about)} |" for names, about in rows)
        yield ""


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


# REST.


def rest() -> str:
    """Each route of the API, by tag, from the OpenAPI document."""
    printed = subprocess.run([sys.executable, "-m", OPENAPI_MODULE], cwd=ROOT, capture_output=True, check=True)
    document = json.loads(printed.stdout)
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            by_tag.setdefault(tag, []).append(_operation(method.upper(), path, operation, document))
    return "\n".join(f"### {tag.capitalize()}\n\n" + "\n".join(sections) for tag, sections in sorted(by_tag.items()))


def _operation(method: str, path: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    lines = [f"#### `{method} {path}`\n", f"{operation.get('description') or operation['summary']}\n"]
    role = operation["x-required-role"]
    lines.append("Public: needs no token.\n" if role == "public" else f"Role: {role}.\n")
    if rows := [_parameter(each, document) for each in operation.get("parameters", ())]:
        lines += ["| parameter | in | type | |", "| --- | --- | --- | --- |", *rows, ""]
    if body := operation.get("requestBody"):
        lines += _body(body, document)
    return "\n".join(lines)


def _parameter(parameter: dict[str, Any], document: dict[str, Any]) -> str:
    required = ", required" if parameter.get("required") and parameter["in"] != "path" else ""
    about = _cell(parameter.get("description", ""))
    return f"| `{parameter['name']}` | {parameter['in']}{required} | {_type(parameter['schema'], document)} | {about} |"


def _body(body: dict[str, Any], document: dict[str, Any]) -> list[str]:
    lines = [f"Body: {', '.join(f'`{kind}`' for kind in body['content'])}\n"]
    schema = next(iter(body["content"].values())).get("schema", {})
    if reference := schema.get("$ref"):
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    if properties := schema.get("properties"):
        lines += ["| field | type | default | |", "| --- | --- | --- | --- |"]
        required = set(schema.get("required", ()))
        for name, about in properties.items():
            default = "required" if name in required else _default(about)
            lines.append(f"| `{name}` | {_type(about, document)} | {default} | {_cell(about.get('description', ''))} |")
        lines.append("")
    return lines


def _default(about: dict[str, Any]) -> str:
    default = about.get("default")
    return "" if default is None or isinstance(default, dict | list) else f"`{json.dumps(default)}`"


def _type(schema: dict[str, Any], document: dict[str, Any]) -> str:
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        target = document["components"]["schemas"].get(name, {})
        return _type(target, document) if "enum" in target else name
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        kinds = dict.fromkeys(_type(branch, document) for branch in branches if branch.get("type") != "null")
        return " or ".join(kinds)
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}), document)}"
    return str(schema.get("type", "any"))


GENERATED: dict[str, Callable[[], str]] = {"<!-- commands -->": commands, "<!-- routes -->": rest}
