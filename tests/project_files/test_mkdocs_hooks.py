"""The hooks of the documentation site: links that leave docs/, and references made from the product."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.repository import ROOT, loaded

mkdocs_hooks = loaded(ROOT / ".ci" / "mkdocs_hooks.py")


def _rendered(markdown: str, uri: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
    return str(mkdocs_hooks.on_page_markdown(markdown, page, None, None))


@pytest.mark.parametrize(
    ("uri", "link", "expected"),
    [
        ("how-to/migrate.md", "[a](../reference/cli.md#exit-codes)", "[a](../reference/cli.md#exit-codes)"),
        ("how-to/migrate.md", "[a](../../CONTRIBUTING.md#tests)", "[a](../contributing.md#tests)"),
        ("how-to/migrate.md", "[a](../../examples/digits.yaml)", "a"),
        ("contributing.md", "[a](docs/glossary.md)", "[a](glossary.md)"),
        ("deploy.md", "[a](../docs/how-to/index.md)", "[a](how-to/index.md)"),
        ("index.md", "[a](#requirements)", "[a](#requirements)"),
        ("index.md", "[a](https://example.org/b)", "[a](https://example.org/b)"),
    ],
)
def test_link_is_rewritten_to_page_of_site(uri: str, link: str, expected: str) -> None:
    assert _rendered(link, uri) == expected


def test_broken_link_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _rendered("[a](../../examples/nowhere.yaml)", "how-to/migrate.md")
    assert caplog.messages == ["docs/how-to/migrate.md: there is no file ../../examples/nowhere.yaml"]


def test_links_in_code_are_unchanged() -> None:
    code = "```\n[a](../../examples/nowhere.yaml)\n```\n"
    assert _rendered(code, "how-to/migrate.md") == code


def test_checked_pages_link_only_to_existing_files(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for name in mkdocs_hooks.CHECKED_ONLY:
            for target in mkdocs_hooks.links((ROOT / name).read_text()):
                mkdocs_hooks.check(target, Path(name))
    assert caplog.messages == []


@pytest.mark.slow
def test_rest_page_lists_api_routes() -> None:
    routes = mkdocs_hooks.rest()
    assert "#### `POST /api/v1/sweeps`" in routes
    assert "| `sweep_id` | path | integer |" in routes


def test_command_page_lists_commands() -> None:
    commands = mkdocs_hooks.commands()
    assert "### podium serve" in commands
    assert "#### podium sweep run" in commands
    assert "--help" not in commands
