"""Three networks behind Ray Serve, as its documentation composes models; a process of its own.

`python -m benchmarks.ray_serve_baseline gather|wait DEADLINE_MS PORT MODEL...`. Prints `ready` when it answers, and
ends when its stdin closes.

One deployment for each model file and an ingress deployment with their handles, each with one replica in one process.
The ingress reads `{"inputs": [[...]]}`, calls all members by `DeploymentHandle.remote`, and returns the mean of their
probabilities.

`gather`: `asyncio.wait_for(asyncio.gather(...))`, as in the documentation pages on model composition and on asyncio: a
member that does not answer in time fails the request with 504. `wait`: `asyncio.wait(..., timeout=...)`, the mean of
the replies if there are at least two of three, and the others are cancelled: a robust implementation.

The networks are loaded by the same code as Podium's own members, with one thread each. `max_ongoing_requests` is 100,
since with the default of 5, 16 clients would wait in the ingress; access logs are off, as the page on performance
advises. There is no token, no validation of the rows and no status of each member. Ray Serve's own settings for speed
(`RAY_SERVE_THROUGHPUT_OPTIMIZED`, `RAY_SERVE_ENABLE_HA_PROXY`) are read from the environment.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import numpy as np
import ray
from ray import serve
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import LoggingConfig
from starlette.requests import Request
from starlette.responses import JSONResponse

from benchmarks.peer_networks import OneNetwork, Rows

ONGOING = 100
READY = "ready"


@serve.deployment(max_ongoing_requests=ONGOING)
class Member:
    """One network."""

    def __init__(self, path: str) -> None:
        self._network = OneNetwork(path)

    async def __call__(self, rows: Rows) -> Rows:
        return self._network.predict(rows)


@serve.deployment(max_ongoing_requests=ONGOING)
class Ensemble:
    """The ingress: sends every request to every member, and returns the mean of their outputs."""

    def __init__(self, waits: bool, deadline_s: float, *members: DeploymentHandle) -> None:
        self._ask = self._wait if waits else self._gather
        self._deadline_s = deadline_s
        self._members = members

    async def __call__(self, request: Request) -> Any:
        rows = np.asarray((await request.json())["inputs"], dtype=np.float32)
        answers = await self._ask(rows)
        if 2 * len(answers) <= len(self._members):
            return JSONResponse({"answered": len(answers)}, 504)
        mean = np.mean(answers, axis=0)
        return {"outputs": mean.tolist(), "labels": mean.argmax(axis=1).tolist(), "answered": len(answers)}

    async def _gather(self, rows: Rows) -> list[Rows]:
        try:
            return await asyncio.wait_for(self._all(rows), self._deadline_s)
        except Exception:  # an error of one member, or the deadline, fails the whole request
            return []

    async def _all(self, rows: Rows) -> list[Rows]:
        return list(await asyncio.gather(*(member.remote(rows) for member in self._members)))

    async def _wait(self, rows: Rows) -> list[Rows]:
        asked = [asyncio.ensure_future(_answer(member, rows)) for member in self._members]
        done, late = await asyncio.wait(asked, timeout=self._deadline_s)
        for each in late:
            each.cancel()
        return [each.result() for each in asked if each in done and each.exception() is None]


async def _answer(member: DeploymentHandle, rows: Rows) -> Rows:
    answer: Rows = await member.remote(rows)
    return answer


def main() -> None:
    """See the module."""
    kind, deadline_ms, port, *models = sys.argv[1:]
    ray.init(num_cpus=2 + len(models), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    serve.start(http_options={"host": "127.0.0.1", "port": int(port)})
    members = [Member.options(name=f"Member{number}").bind(path) for number, path in enumerate(models)]  # type: ignore[attr-defined]
    application = Ensemble.bind(kind == "wait", float(deadline_ms) / 1e3, *members)  # type: ignore[attr-defined]
    logging = LoggingConfig(enable_access_log=False, log_level="WARNING")
    serve.run(application, logging_config=logging)
    print(READY, flush=True)
    sys.stdin.read()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
