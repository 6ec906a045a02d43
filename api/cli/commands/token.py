"""`podium token create|list|revoke`: access tokens in addition to the data directory's admin token; CLI."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Literal

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir

app = group()
_DURATION = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_UNIT_S = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="its holder: ann, ci, notebook-3, or the name of a node")],
    role: Annotated[
        Literal["viewer", "submitter", "admin", "node"],
        typer.Option(
            help="viewer: read and predict; submitter: also submit, control and build; admin: everything; "
            "node: only for other machines that join the service"
        ),
    ],
    expires_in: Annotated[str, typer.Option(metavar="TIME", help="30m, 12h, 90d, 8w, or never")] = "90d",
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Create a token and print it once. The holder sends `Authorization: Bearer TOKEN`, or logs in with it."""
    seconds = _seconds(expires_in)
    with lazy_imports.Client.of(data_dir) as client:
        made = client.create_token(name, role, expires_in_s=seconds)
    if as_json:
        lazy_imports.terminal_output.print_json(made)
        return
    print(made["token"])
    until = "until it is revoked" if made["expires_at"] is None else f"until {made['expires_at'][:16]} UTC"
    print(f"Token {made['id']} of {name}, {role}, {until}; it is not shown again.", file=sys.stderr)


@app.command("list")
def list_tokens(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List all tokens, also expired and revoked ones. Their secrets are not stored."""
    with lazy_imports.Client.of(data_dir) as client:
        found = list(client.tokens())
    if as_json:
        lazy_imports.terminal_output.print_json(found)
        return
    rows = [
        (
            token["id"],
            token["name"],
            token["role"],
            token["state"] + (f" by {token['revoked_by']}" if token["revoked_by"] else ""),
            f"{token['created_at'][:16]} by {token['created_by']}",
            "–" if token["expires_at"] is None else token["expires_at"][:16],
        )
        for token in found
    ]
    lazy_imports.terminal_output.console.print(
        lazy_imports.terminal_output.table(
            None, ("id", "name", "role", "state", "created (UTC)", "expires (UTC)"), rows
        )
    )


@app.command()
def revoke(
    tokens: Annotated[list[str], typer.Argument(metavar="TOKEN...", help="ids of tokens, or names of valid ones")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Revoke tokens and end their browser sessions."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(
            tokens, client.revoke_token, lambda token: f"token {token['id']} of {token['name']} is revoked", as_json
        )


def _seconds(text: str) -> float | None:
    """`90d` in seconds; None for `never`."""
    if text == "never":
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"--expires-in {text!r}: write a number followed by m, h, d or w, like 90d, or never")
    return float(match[1]) * _UNIT_S[match[2]]
