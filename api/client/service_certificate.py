"""How others on this machine know a service with TLS: by its very certificate, whatever its names; cli, serve."""

from __future__ import annotations

import ssl
from pathlib import Path

_END = "-----END CERTIFICATE-----\n"


def certificate(file: Path) -> str:
    """The service's own certificate, the first of its chain. Raises `OSError`."""
    first, end, _ = file.read_text().partition(_END)
    return first[first.find("-----BEGIN") :] + end


def trusting(pem: str) -> ssl.SSLContext:
    """Trusts that certificate alone."""
    context = ssl.create_default_context(cadata=pem)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
