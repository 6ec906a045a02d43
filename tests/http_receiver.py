"""An HTTP server on loopback that records the JSON that it gets, as the target of notifications."""

from __future__ import annotations

import http.server
import json
import threading

SECRET = "hunter2-is-secret"


class Receiver:
    """Answers each request with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.got: list[dict[str, str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append(json.loads(body))
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        """For Apprise, with a secret in it."""
        return f"json://user:{SECRET}@127.0.0.1:{self.port}/hook"

    @property
    def titles(self) -> list[str]:
        return [each["title"] for each in self.got]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
