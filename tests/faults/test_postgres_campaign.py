"""A short campaign on PostgreSQL: each fault of the server once; `make faults FAULTS="--postgres"` runs a long one."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.faults.commit_proxy import CommitProxy
from tests.faults.postgres_campaign import PostgresPlan, run, table


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_faults_of_the_server_lose_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = run(PostgresPlan(faults=8), tmp_path, said.append)
    assert outcome.passed, table(outcome)
    assert {fault.kind for fault in outcome.faults} >= {"server killed", "COMMIT without answer", "no free connection"}
    assert outcome.verdict.trials > 0 and len(said) == 8


def test_proxy_cuts_a_commit_after_the_server_got_it() -> None:
    got: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            while content := connection.recv(100):
                got.append(content)
                connection.sendall(b"answer to " + content)

    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    proxy = CommitProxy(server.getsockname()[1])
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as client:
        client.sendall(b"BEGIN")
        assert client.recv(100) == b"answer to BEGIN"
        proxy.cut_next_commit()
        client.sendall(b"COMMIT")
        assert client.recv(100) == b""
    answering.join(10)
    proxy.close()
    server.close()
    assert (got, proxy.cuts) == ([b"BEGIN", b"COMMIT"], 1)
