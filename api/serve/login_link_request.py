"""Requests a login link from the running service without loading an HTTP client; `podium serve`."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

from podium.sweep.runtime.certificate_pin import read_certificate, ssl_context
from podium.sweep.runtime.service_settings import ServiceSettings

VALID_S = 86400
_TIMEOUT_S = 5.0


def _connection(settings: ServiceSettings) -> http.client.HTTPConnection:
    if not settings.tls_cert:
        return http.client.HTTPConnection(settings.own_host, settings.port, timeout=_TIMEOUT_S)
    trusted = ssl_context(read_certificate(Path(settings.tls_cert)))
    return http.client.HTTPSConnection(settings.own_host, settings.port, timeout=_TIMEOUT_S, context=trusted)


def ask(settings: ServiceSettings) -> str | None:
    """A link that logs a browser in as admin, once; None if the service does not answer."""
    connection = _connection(settings)
    try:
        token = settings.data.admin_token.read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/login-links", json.dumps({"valid_s": VALID_S}), headers)
        answer = connection.getresponse()
        return json.loads(answer.read())["url"] if answer.status == 201 else None
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return None
    finally:
        connection.close()
