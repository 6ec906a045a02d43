"""Access tokens over REST, for admins: create, list, revoke; the secret is returned once; api."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import admin, authenticator_of
from podium.api.http.route_dependencies import After, RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import Page, View, time_of
from podium.db.access import tokens
from podium.db.access.tokens import Holder, Role, TokenRow, TokenState
from podium.sweep.runtime.certificate_pin import fingerprint, read_certificate
from podium.sweep.values.errors import ConflictError

DEFAULT_S = 90 * 86400.0
MAX_S = 3650 * 86400.0
NAME = r"^[A-Za-z][A-Za-z0-9._@-]*$"  # not a number: tokens are also identified by id

router = APIRouter(prefix="/api/v1/tokens", tags=["access"])


class TokenWanted(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME, max_length=64)
    role: Role
    expires_in_s: float | None = Field(DEFAULT_S, ge=60.0, le=MAX_S, description="null: no expiry")


class TokenView(View):
    """A token, without its secret."""

    id: int
    name: str
    role: Role
    state: TokenState
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str


class NewTokenView(TokenView):
    """A new token; `token` is the secret, which cannot be read again."""

    token: str


@router.post("", status_code=201)
def create_token(body: TokenWanted, service: ServiceContext = context, holder: Holder = admin) -> NewTokenView:
    """Create a token. That of a node ends with the fingerprint of the certificate that the node must find."""
    now = time.time()
    suffix = f"@{_cluster_fingerprint(service)}" if body.role is Role.NODE else ""
    until = None if body.expires_in_s is None else now + body.expires_in_s
    with service.database.write() as connection:
        made = tokens.create(connection, body.name, body.role, now, by=holder.name, until=until)
    return NewTokenView(**_view(made.row).model_dump(), token=made.secret + suffix)


@router.get("", dependencies=[admin])
def list_tokens(
    after: After = None, limit: Annotated[int, Query(ge=1, le=200)] = 200, service: ServiceContext = context
) -> Page[TokenView]:
    """List tokens, oldest first, including expired and revoked ones."""
    with service.database.read() as connection:
        rows = tokens.page(connection, after or 0, limit + 1)
    return Page(items=[_view(row) for row in rows[:limit]], next=rows[limit - 1].id if len(rows) > limit else None)


@router.delete("/{token_id}")
def revoke_token(
    token_id: RowId, request: Request, service: ServiceContext = context, holder: Holder = admin
) -> TokenView:
    """Revoke a token and its browser sessions, effective immediately."""
    with service.database.write() as connection:
        row = tokens.get(connection, token_id)
        if row.digest == _local_digest(service):
            raise ConflictError(
                f"token {token_id} is the command line's token in the data directory; to replace it, stop the service, "
                "remove admin.token and start the service again"
            )
        tokens.revoke(connection, token_id, holder.name, time.time())
        row = tokens.get(connection, token_id)
    authenticator_of(request).clear_cache()
    service.wake_gateways()  # which caches tokens, too
    return _view(row)


def _cluster_fingerprint(service: ServiceContext) -> str:
    """Raises `ConflictError` if the service accepts no nodes."""
    if not service.settings.cluster:
        raise ConflictError("this service accepts no nodes; start it with `podium serve --cluster ADDRESS`")
    return fingerprint(read_certificate(service.settings.data.cluster_certificate))


def _local_digest(service: ServiceContext) -> str | None:
    """The digest of the token in the data directory."""
    try:
        return tokens.digest(service.settings.data.admin_token.read_text().strip())
    except OSError:
        return None


def _view(row: TokenRow) -> TokenView:
    return TokenView(
        id=row.id,
        name=row.name,
        role=row.role,
        state=row.state(time.time()),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        created_by=row.created_by,
        expires_at=time_of(row.expires_at),
        revoked_at=time_of(row.revoked_at),
        revoked_by=row.revoked_by,
    )
