"""Trust in one exact certificate, whatever its host names: of a local service, a head, a node; every process."""

from __future__ import annotations

import hashlib
import hmac
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


def listening_context(certificate: Path, key: Path, client: str) -> ssl.SSLContext:
    """A TLS context of a server that accepts one client: the one with the certificate `client` (PEM) and its key.

    Raises `OSError` if the files cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=client)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.num_tickets = 0  # connections are long, and a ticket would be a second way in
    return context


def connecting_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A TLS context of a client that proves its identity by a certificate. Raises `OSError`.

    It accepts any server: the caller compares its certificate with `is_pinned` before it sends anything.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def is_pinned(connection: ssl.SSLSocket | ssl.SSLObject, expected: str) -> bool:
    """Whether the peer of an established connection has the certificate with this fingerprint."""
    content = connection.getpeercert(binary_form=True) or b""
    return hmac.compare_digest(hashlib.sha256(content).hexdigest(), expected)


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
