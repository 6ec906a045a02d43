"""A self-signed certificate, made once and trusted by its fingerprint: of a head or a node; serve, node agent."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podium.sweep.runtime.atomic_files import write_atomic

VALID_DAYS = 3650  # nodes compare the fingerprint, so that a new one would require new tokens


def ensure(certificate_file: Path, key_file: Path, address: str) -> None:
    """Create the certificate of an IP address and its key unless they exist. Raises `OSError`."""
    if certificate_file.exists() and key_file.exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "podium")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks of nodes may be wrong
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_atomic(key_file, private, mode=0o600)
    write_atomic(certificate_file, certificate.public_bytes(serialization.Encoding.PEM))
