"""A request of the Open Inference Protocol, JSON with or without raw tensors after it, checked and read; pure, gateway.

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
from podium.api.http.route_context import MAX_JSON_ROWS_BYTES
from podium.sweep.values.errors import BadRequestError, TooLargeError

MAX_TIMEOUT_US = 600_000_000
LENGTH = "Inference-Header-Content-Length"
_FEW = 16  # tensors in a request: more than there are to ask for


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
    timeout: Annotated[int, Field(ge=0, le=MAX_TIMEOUT_US)] | None = None  # microseconds; 0 is none, as in Triton
    binary_data_output: bool = False
    sequence_id: Any = None


class _Body(_Part):
    id: str | None = None
    parameters: _Parameters | None = None
    inputs: Annotated[list[_Input], Field(max_length=_FEW)]
    outputs: Annotated[list[_Output], Field(max_length=_FEW)] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """An output that the client wants, and in which form."""

    name: str
    binary: bool


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """Rows to predict, finite and of the right width, and how the client wants its answer."""

    inputs: NDArray[np.float32]  # (rows, features)
    wanted: tuple[Wanted, ...]
    request_id: str | None
    deadline_ms: float | None


def parse(content: bytes, json_bytes: int | None, features: int, outputs: Sequence[str]) -> InferenceRequest:
    """Read a body whose first `json_bytes` are JSON, or which is all JSON where that is None.

    `features` is the width of a row, `outputs` are the names of what there is to ask for. Raises `BadRequestError`
    naming what is wrong and `TooLargeError`; a size that is claimed is believed only if the bytes are there.
    """
    if json_bytes is not None and json_bytes > len(content):
        raise BadRequestError(f"{LENGTH}: {json_bytes:,} bytes of JSON in a body of {len(content):,} bytes")
    view = memoryview(content)
    body = _body(view, json_bytes)
    raw = view[len(content) if json_bytes is None else json_bytes :]
    parameters = body.parameters or _Parameters()
    if parameters.sequence_id:
        raise BadRequestError("sequence_id: requests are answered one by one here; leave it out")
    return InferenceRequest(
        inputs=_inputs(body.inputs, raw, json_bytes, features),
        wanted=_wanted(body.outputs, parameters.binary_data_output, outputs),
        request_id=body.id,
        deadline_ms=parameters.timeout / 1000 if parameters.timeout else None,
    )


def _body(content: memoryview, json_bytes: int | None) -> _Body:
    text = content if json_bytes is None else content[:json_bytes]
    if len(text) > MAX_JSON_ROWS_BYTES:
        raise TooLargeError(
            f"the JSON is above {MAX_JSON_ROWS_BYTES:,} bytes: send fewer rows, or send {INPUT} as binary data"
        )
    try:
        values = orjson.loads(text)
        reject_duplicate_keys.check_read(bytes(text), values)
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
            f"{LENGTH}: the first {json_bytes:,} of the body's {body_bytes:,} bytes are not JSON: {error}; the header "
            "must be the number of bytes of this request's JSON"
        )
    return f"the body is not JSON: {error}; where binary data follows the JSON, {LENGTH} must say where it ends"


def _inputs(found: list[_Input], raw: memoryview, json_bytes: int | None, features: int) -> NDArray[np.float32]:
    """The one input, from the JSON or from the bytes after it."""
    if [each.name for each in found] != [INPUT]:
        names = reprlib.repr([each.name for each in found])
        raise BadRequestError(f"inputs: there is one input, {INPUT!r}, and the request has {names}")
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
    """Data in one form, and every byte of the body is somebody's."""
    if given.binary_size is not None and given.data is not None:
        raise BadRequestError(f"{INPUT}: give data or binary_data_size, one of the two")
    if (given.binary_size or 0) != after_json:
        if json_bytes is None:
            where = f"without {LENGTH}, all of the body is JSON"
        else:
            where = f"{LENGTH} says that the JSON ends after {json_bytes:,} bytes"
        stated = given.binary_size or 0
        raise BadRequestError(
            f"{INPUT}: binary_data_size is {stated:,}, and {after_json:,} bytes follow the JSON; {where}"
        )


def _wanted(found: list[_Output] | None, binary: bool, outputs: Sequence[str]) -> tuple[Wanted, ...]:
    """What is asked for; where nothing is, everything."""
    if not found:
        return tuple(Wanted(name, binary) for name in outputs)
    names = [each.name for each in found]
    if len(set(names)) != len(names) or not set(names) <= set(outputs):
        raise BadRequestError(f"outputs: {reprlib.repr(names)}; there are {', '.join(outputs)}, each once")
    return tuple(Wanted(each.name, _binary(each, binary)) for each in found)


def _binary(wanted: _Output, otherwise: bool) -> bool:
    if wanted.parameters is None:
        return otherwise
    if wanted.parameters.shared_memory_region is not None:
        raise BadRequestError(f"{wanted.name}: shared memory is not supported; it comes in the body")
    if wanted.parameters.classification:
        raise BadRequestError(f"{wanted.name}: classification is not supported; ask for LABEL")
    return otherwise if wanted.parameters.binary_data is None else wanted.parameters.binary_data
