"""Entry point of the search process, for samplers that are slow or import torch.

`python -P -m podium.sweep.search.search_process PARENT_PID`, started by `podium.sweep.search.search_client`. Reads JSON
lines: first the spec, then trials as they are planned, told and retried, and requests for proposals; answers each
request with values or an error. It has the same trials as the search in the scheduler, in the same order, and therefore
makes the same suggestions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.errors import UnusableClassError
from podium.sweep.values.search_messages import PastTrial


def serve(requests: Iterator[str], answers: TextIO) -> None:
    """Process the requests until the end of the input."""
    opening = json.loads(next(requests))
    earlier = [PastTrial.from_dict(trial) for trial in opening["earlier"]]
    search = Search(spec_from_json(opening["spec"]), earlier=earlier, judges=False)
    try:
        search.load()
    except UnusableClassError as error:
        _send(answers, kind="unusable", error=str(error))
        return
    _send(answers, kind="ready")
    for line in requests:
        request = json.loads(line)
        if request["kind"] == "trial":
            search.put(PastTrial.from_dict(request["trial"]))
        else:
            answers.write(_proposal(search, request["number"]) + "\n")
            answers.flush()


def _proposal(search: Search, number: int) -> str:
    """The answer as JSON; a user's sampler may set attributes that are not valid JSON."""
    try:
        planned = search.propose(number)
        if planned is None:
            return json.dumps({"kind": "exhausted", "number": number})
        found = {
            "params": planned.params, "attributes": planned.attributes, "sampler": planned.sampler,
            "fallback_reason": planned.fallback_reason,
        }  # fmt: skip
        return json.dumps({"kind": "proposed", "number": number, **found})
    except Exception as error:  # noqa: BLE001 - that trial is sampled at random, and the next one may succeed
        return json.dumps({"kind": "failed", "number": number, "error": f"{type(error).__name__}: {error}"})


def _send(answers: TextIO, **message: Any) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def main() -> None:
    """Answers go to the pipe that was standard output; other output goes to standard error."""
    die_with_parent(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(iter(sys.stdin), answers)


if __name__ == "__main__":
    main()
