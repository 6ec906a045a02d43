"""Responses of plain values, for routes that return many of them; api."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Response


def json_response(content: Any) -> Response:
    """Plain values as JSON. The route declares its response model for the documentation; it is not validated again.

    Non-finite numbers become null.
    """
    return Response(orjson.dumps(content), media_type="application/json")
