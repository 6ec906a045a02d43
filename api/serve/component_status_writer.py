"""Writes the state of the service's components to a file, which `component_status_reader` reads; `podium serve`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from podium.api.serve.supervised_components import Component
from podium.sweep.runtime import certificate_pin
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.service_settings import ServiceSettings


class StatusWriter:
    """Writes the service file.

    Args:
        settings: Of the service.
        log: Writes a line for the user.
    """

    def __init__(self, settings: ServiceSettings, log: Callable[[str], None]) -> None:
        self._settings = settings
        self._log = log
        self._certificate = certificate_pin.read_certificate(Path(settings.tls_cert)) if settings.tls_cert else None
        self._error = ""

    @property
    def has_failed(self) -> bool:
        """Whether the file could not be written the last time."""
        return bool(self._error)

    def write(self, components: Iterable[Component]) -> None:
        """Replace the file. Reports a failure once."""
        path = self._settings.data.service_file
        try:
            write_atomic(path, json.dumps(self._status(components)).encode(), mode=0o600)
        except OSError as error:  # a full disk does not end the service: reads still work
            reason = error.strerror or str(error)
            if reason != self._error:
                self._log(f"cannot write {path}: {reason}; retrying")
            self._error = reason
        else:
            self._error = ""

    def _status(self, components: Iterable[Component]) -> dict[str, Any]:
        parts = [
            {
                "name": component.name,
                "pid": None if component.process is None else component.process.pid,
                "state": component.state,
                "restarts": component.restarts,
            }
            for component in components
        ]
        return {
            "url": self._settings.url,
            "gateway_url": self._settings.gateway_url,
            "certificate": self._certificate,
            "pid": os.getpid(),
            "parts": [{"name": "serve", "pid": os.getpid(), "state": "ready", "restarts": 0}, *parts],
        }
