"""Parses requests of the Open Inference Protocol: JSON, optionally followed by raw tensors; no I/O, gateway.

https://github.com/kserve/open-inference-protocol, with the binary tensor data extension of Triton and KServe.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.api.gateway import input_tensors
from podium.api.gateway.output_tensors import INPUT
from podium.api.http import reject_duplicate_keys
from podium.api.http.request_limits import MAX_JSON_ROWS_BYTES
from podium.ensemble.values.ensemble_spec import MAX_DEADLINE_MS
from podium.sweep.values.errors import BadRequestError, TooLargeError

MAX_TIMEOUT_US = MAX_DEADLINE_MS * 1000
LENGTH = "Inference-Header-Content-Length"
_MAX_TENSORS = 16  # per request; an ensemble has fewer outputs


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class _InputParameters(_Part):
    binary_data_size: int | None = None
    shared_memory_region: Any = None


class _Input(_Part):
    name: str
    shape: Annotated[list[int], Field(max_length=64)]
    datatype: str
    parameters: _InputParameters | None = None
    data: Any = None

    @property
    def binary_size(self) -> int | None:
        return None if self.parameters is None else self.parameters.binary_data_size


class _OutputParameters(_Part):
    binary_data: bool | None = None
    classification: Any = None
    shared_memory_region: Any = None


class _Output(_Part):
    name: str
    parameters: _OutputParameters | None = None


class _Parameters(_Part):
    timeout: Annotated[int, Field(ge=0, le=MAX_TIMEOUT_US)] | None = (
        None  # microseconds; 0 means no timeout, as in Triton
    )
    binary_data_output: bool = False
    sequence_id: Any = None


class _Body(_Part):
    id: str | None = None
    parameters: _Parameters | None = None
    inputs: Annotated[list[_Input], Field(max_length=_MAX_TENSORS)]
    outputs: Annotated[list[_Output], Field(max_length=_MAX_TENSORS)] | None = None


@dataclass(frozen=True, slots=True)
class RequestedOutput:
    """An output that the client requests, and its encoding."""

    name: str
    binary: bool


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """Input rows, finite and of the right width, and the requested outputs."""

    inputs: NDArray[np.float32]  # (rows, features)
    outputs: tuple[RequestedOutput, ...]
    request_id: str | None
    deadline_ms: float | None


def parse(
    content: bytes,
    json_bytes: int | None,
    features: int,
    outputs: Sequence[str],
    max_json_bytes: int = MAX_JSON_ROWS_BYTES,
) -> InferenceRequest:
    """Parse a body whose first `json_bytes` bytes are JSON; None: the whole body is JSON.

    `features` is the width of a row, `outputs` the names of the available outputs. Raises `BadRequestError`, and
    `TooLargeError` for more than `max_json_bytes` of JSON. Nothing is allocated for a size that the body only claims.
    """
    if json_bytes is not None and json_bytes > len(content):
        raise BadRequestError(f"{LENGTH}: {json_bytes:,} exceeds the body size of {len(content):,} bytes")
    view = memoryview(content)
    body = _body(view, json_bytes, max_json_bytes)
    raw = view[len(content) if json_bytes is None else json_bytes :]
    parameters = body.parameters or _Parameters()
    if parameters.sequence_id:
        raise BadRequestError("sequence_id: sequences are not supported; omit it")
    return InferenceRequest(
        inputs=_inputs(body.inputs, raw, json_bytes, features),
        outputs=_outputs(body.outputs, parameters.binary_data_output, outputs),
        request_id=body.id,
        deadline_ms=parameters.timeout / 1000 if parameters.timeout else None,
    )


def _body(content: memoryview, json_bytes: int | None, max_json_bytes: int) -> _Body:
    text = content if json_bytes is None else content[:json_bytes]
    if len(text) > max_json_bytes:
        raise TooLargeError(
            f"the JSON exceeds {max_json_bytes:,} bytes; send fewer rows, or send {INPUT} as binary data"
        )
    try:
        values = orjson.loads(text)
        reject_duplicate_keys.check_parsed(bytes(text), values)
        return _Body.model_validate(values)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(_not_json(error, len(content), json_bytes)) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise BadRequestError(f"{where}: {first['msg']}") from error


def _not_json(error: orjson.JSONDecodeError, body_bytes: int, json_bytes: int | None) -> str:
    if json_bytes is not None:
        return (
            f"{LENGTH}: the first {json_bytes:,} of {body_bytes:,} bytes are not JSON: {error}; the header must be the "
            "length of the JSON in bytes"
        )
    return f"the body is not JSON: {error}; if binary data follows the JSON, {LENGTH} must be the length of the JSON"


def _inputs(found: list[_Input], raw: memoryview, json_bytes: int | None, features: int) -> NDArray[np.float32]:
    """The only input, from the JSON or from the raw bytes after it."""
    if [each.name for each in found] != [INPUT]:
        names = reprlib.repr([each.name for each in found])
        raise BadRequestError(f"inputs: must be exactly one input, {INPUT!r}, not {names}")
    given = found[0]
    input_tensors.check_datatype(given.datatype)
    if given.parameters is not None and given.parameters.shared_memory_region is not None:
        raise BadRequestError(f"{INPUT}: shared memory is not supported; send the data in the body")
    rows = input_tensors.rows_of(given.shape, features)
    _check_form(given, len(raw), json_bytes)
    if given.binary_size is None:
        return input_tensors.from_json(given.data, given.datatype, rows, features)
    return input_tensors.from_bytes(raw, given.datatype, rows, features)


def _check_form(given: _Input, after_json: int, json_bytes: int | None) -> None:
    """The input has one encoding, and every byte of the body belongs to it."""
    if given.binary_size is not None and given.data is not None:
        raise BadRequestError(f"{INPUT}: set either data or binary_data_size, not both")
    if (given.binary_size or 0) != after_json:
        if json_bytes is None:
            where = f"without {LENGTH}, the whole body is JSON"
        else:
            where = f"by {LENGTH}, the JSON has {json_bytes:,} bytes"
        stated = given.binary_size or 0
        raise BadRequestError(
            f"{INPUT}: binary_data_size is {stated:,}, but {after_json:,} bytes follow the JSON; {where}"
        )


def _outputs(found: list[_Output] | None, binary: bool, available: Sequence[str]) -> tuple[RequestedOutput, ...]:
    """The requested outputs; all available ones by default."""
    if not found:
        return tuple(RequestedOutput(name, binary) for name in available)
    names = [each.name for each in found]
    if len(set(names)) != len(names) or not set(names) <= set(available):
        raise BadRequestError(f"outputs: {reprlib.repr(names)} must be distinct and among {', '.join(available)}")
    return tuple(RequestedOutput(each.name, _is_binary(each, binary)) for each in found)


def _is_binary(output: _Output, default: bool) -> bool:
    if output.parameters is None:
        return default
    if output.parameters.shared_memory_region is not None:
        raise BadRequestError(f"{output.name}: shared memory is not supported; the output is in the body")
    if output.parameters.classification:
        raise BadRequestError(f"{output.name}: classification is not supported; ask for LABEL")
    return default if output.parameters.binary_data is None else output.parameters.binary_data
