"""Trust in a local service with TLS: its exact certificate, whatever its host names; CLI and `podium serve`."""

from __future__ import annotations

import ssl
from pathlib import Path

_END = "-----END CERTIFICATE-----\n"


def read_certificate(file: Path) -> str:
    """The service's certificate (PEM), the first of its chain. Raises `OSError`."""
    first, end, _ = file.read_text().partition(_END)
    return first[first.find("-----BEGIN") :] + end


def ssl_context(pem: str) -> ssl.SSLContext:
    """A TLS context that trusts only this certificate."""
    context = ssl.create_default_context(cadata=pem)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
