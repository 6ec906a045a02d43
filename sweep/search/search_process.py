"""Entry point of the search process, for samplers that are slow or import torch.

`python -P -m podium.sweep.search.search_process PARENT_PID`, started by `podium.sweep.search.search_client`. Reads the
requests of `podium.sweep.protocol.search_process_messages`: first the spec, then trials as they are planned, told and
retried, and requests for proposals; answers each request with values or an error. It has the same trials as the search
in the scheduler, in the same order, and therefore makes the same suggestions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TextIO

from podium.sweep.protocol.search_process_messages import (
    ProposalComputed,
    ProposalFailed,
    ProposalRequested,
    SamplerExhausted,
    SamplerUnusable,
    SearchOpening,
    SearchReady,
    TrialChanged,
    decode_request,
    encode_reply,
)
from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.errors import UnusableClassError


def serve(requests: Iterator[str], answers: TextIO) -> None:
    """Process the requests until the end of the input."""
    opening = decode_request(next(requests))
    assert isinstance(opening, SearchOpening), opening
    search = Search(spec_from_json(opening.spec), earlier=opening.earlier, prunes=False)
    try:
        search.load()
    except UnusableClassError as error:
        _send(answers, encode_reply(SamplerUnusable(str(error))))
        return
    _send(answers, encode_reply(SearchReady()))
    for line in requests:
        request = decode_request(line)
        if isinstance(request, TrialChanged):
            search.put(request.trial)
        elif isinstance(request, ProposalRequested):
            _send(answers, _proposal(search, request.number))


def _proposal(search: Search, number: int) -> str:
    """The reply as a line; a user's sampler may set attributes that are not valid JSON."""
    try:
        planned = search.propose(number)
        return encode_reply(SamplerExhausted(number) if planned is None else ProposalComputed(planned))
    except Exception as error:  # noqa: BLE001 - that trial is sampled at random, and the next one may succeed
        return encode_reply(ProposalFailed(number, f"{type(error).__name__}: {error}"))


def _send(answers: TextIO, line: str) -> None:
    answers.write(line)
    answers.flush()


def main() -> None:
    """Answers go to the pipe that was standard output; other output goes to standard error."""
    die_with_parent(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(iter(sys.stdin), answers)


if __name__ == "__main__":
    main()
