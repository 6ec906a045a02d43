"""Trust in one exact certificate, whatever its host names: of a local service, or of a head; CLI, serve, node agent."""

from __future__ import annotations

import hashlib
import socket
import ssl
from pathlib import Path

from podium.sweep.values.errors import ServiceError

CONNECT_S = 10.0
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


def fingerprint(pem: str) -> str:
    """The SHA-256 of a certificate, in hexadecimal."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def fetch_certificate(host: str, port: int, expected: str) -> str:
    """The certificate (PEM) of a server whose fingerprint is known.

    Raises `ServiceError` if the server does not answer, or has another certificate: it is not the expected one.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the fingerprint decides
    try:
        connection = socket.create_connection((host, port), timeout=CONNECT_S)
        with connection, context.wrap_socket(connection) as secured:
            content = secured.getpeercert(binary_form=True)
    except OSError as error:
        raise ServiceError(
            f"no head answers at {host}:{port}: {error}; is `podium serve --cluster` running?"
        ) from error
    pem = ssl.DER_cert_to_PEM_cert(content or b"")
    if fingerprint(pem) != expected:
        raise ServiceError(
            f"the head at {host}:{port} has another certificate than the token says; create a new token on the head "
            "with `podium token create NAME --role node`, or check the address"
        )
    return pem
