"""Responses of plain values, for routes that return many of them; api."""

from __future__ import annotations

import zlib
from typing import Any

import orjson
from fastapi import Response
from pydantic_core import to_json

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z


def json_response(content: Any) -> Response:
    """Plain values and NumPy arrays as JSON, not validated again by the response model, which is documentation.

    Non-finite numbers become null, and times ISO 8601 in UTC, as in the responses of models.
    """
    try:
        body = orjson.dumps(content, option=_OPTIONS)
    except TypeError:  # an integer of more than 64 bits, which a trial's attribute may have
        body = to_json(content, inf_nan_mode="null")
    return Response(body, media_type="application/json")


def compressed(response: Response, accept_encoding: str) -> Response:
    """The response compressed with gzip if the client accepts it: for responses of many numbers."""
    if "gzip" not in accept_encoding:
        return response
    packed = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)
    body = packed.compress(bytes(response.body)) + packed.flush()
    return Response(
        body, media_type=response.media_type, headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    )
