"""Every limit on a request: bytes, rows, seconds; api and gateway."""

from __future__ import annotations

from dataclasses import dataclass

MAX_JSON_BYTES = 1 << 20  # bytes of a body, except on routes marked with `reads_own_body`
MAX_ARRAY_ROWS_BYTES = 64 << 20  # of rows as arrays, to predict or to evaluate
MAX_JSON_ROWS_BYTES = 4 << 20  # of rows as JSON: parsing blocks the event loop for about 10 ms per MB
MAX_IMPORT_BYTES = 64 << 20  # bytes of an imported study
MAX_INCOMING_BYTES = 256 << 20  # bytes of all bodies that one process is receiving
MAX_BODY_S = 60.0  # seconds to receive a body
MAX_ROWS = 8_192  # per prediction: joining the members' outputs blocks the event loop
MAX_ROWS_WITH_MEMBERS = 100  # per prediction that returns the outputs of each member
INLINE_SIZE = 1 << 18  # bytes to parse, or numbers to serialize, that are handled on the event loop
MAX_ID = 2**63 - 1  # the largest integer of the database


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits on the bodies of an app's requests, except those on all bodies together; in `app.state.request_limits`."""

    array_rows_bytes: int = MAX_ARRAY_ROWS_BYTES
    json_rows_bytes: int = MAX_JSON_ROWS_BYTES
    import_bytes: int = MAX_IMPORT_BYTES
    rows: int = MAX_ROWS  # per prediction
