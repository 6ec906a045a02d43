"""Certificates of heads and nodes, as files of a test."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

from podium.ensemble.worker.control_messages import TlsListening
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.certificate_pin import connecting_context, fingerprint, read_certificate

HOST = "127.0.0.1"


class Identity(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path, name: str) -> Identity:
        """A new one."""
        made = cls(folder / f"{name}.crt", folder / f"{name}.key")
        cluster_certificates.ensure(made.certificate, made.key, HOST)
        return made

    @property
    def pem(self) -> str:
        return read_certificate(self.certificate)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.pem)

    @property
    def connecting(self) -> ssl.SSLContext:
        """Proves this identity to a server."""
        return connecting_context(self.certificate, self.key)

    def listening(self, client: Identity, port: int = 0) -> TlsListening:
        """A worker on a machine of this identity, for gateways with that of `client`; port 0: any free one."""
        return TlsListening(HOST, port, port, str(self.certificate), str(self.key), client.pem)
